// `rondo train` and `rondo allreduce` in several processes, started as a user would.
#include <rondo/nn/io/safetensors.h>
#include <rondo/tests/across_hosts/launcher.h>
#include <rondo/tests/rondo/support/devices.h>
#include <rondo/tests/rondo/support/files.h>

#include <stdlib.h>
#include <algorithm>
#include <sstream>

namespace rondo::test {
namespace {

class RondoAcrossHosts : public testing::Test {
 protected:
  RondoAcrossHosts() {
    write_data_set(data_.path(), 40, 20);
    // The user's measured links must not decide which algorithm a test runs.
    setenv("XDG_CACHE_HOME", results_.path().c_str(), 1);
  }
  std::string train(const std::string& options) {
    return RONDO_PROGRAM " train lenet --data " + data_.path().string() + " --epochs 2 --batch 16 " + options;
  }
  TemporaryDirectory data_, results_;
};

// Epoch, loss and accuracy of each line of a log: the columns that do not depend on time.
std::string figures(const std::string& log) {
  std::istringstream lines(log);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    size_t end = 0;
    for (int column = 0; column < 3 && end != std::string::npos; ++column) end = line.find(',', end + 1);
    kept += line.substr(0, end) + "\n";
  }
  return kept;
}

// The names of the tensors that differ in a bit between two checkpoints, or a count that differs. The
// metadata may differ: they have the processes' devices.
std::string different_tensors(const std::string& a, const std::string& b) {
  const Safetensors one = read_safetensors(a), other = read_safetensors(b);
  std::string names;
  if (one.tensors.empty() || one.tensors.size() != other.tensors.size())
    return concat(one.tensors.size(), " and ", other.tensors.size(), " tensors");
  for (const StoredTensor& tensor : one.tensors) {
    const StoredTensor* there = other.find(tensor.name);
    if (!there || there->type != tensor.type || !std::ranges::equal(there->bytes, tensor.bytes))
      names += tensor.name + " ";
  }
  return names;
}

TEST_F(RondoAcrossHosts, EachProcessTouchesItsDevicesOnly) {
  SKIP_WITHOUT_MPI();
  if (std::string(platform()) != "cpu") GTEST_SKIP() << "needs the executor's report of contexts";
  const Output output = run("SIMT_REPORT_CONTEXTS=1 " + launch(2, train("--devices 1,2")));
  ASSERT_EQ(output.exit_code, 0) << output.text;
  size_t processes = 0;
  for (size_t at = 0; (at = output.text.find("simt: contexts on devices ", at)) != std::string::npos;
       ++at, ++processes)
    EXPECT_EQ(output.text.find("simt: contexts on devices 1, 2\n", at), at) << output.text;
  EXPECT_EQ(processes, 2u) << output.text;
}

TEST_F(RondoAcrossHosts, TrainsAsOneProcessDoesInGroups) {
  SKIP_WITHOUT_MPI();
  const std::string one = results_ / "one.csv", two = results_ / "two.csv";
  const Output alone =
      run("SIMT_WORKERS=2 " + train("--devices " + devices(4) + " --group 2 --verify --log " + one +
                                    " --save " + (results_ / "one")));
  const Output together = run(launch(
      2, train("--devices " + devices(2) + " --verify --log " + two + " --save " + (results_ / "two"))));
  ASSERT_EQ(alone.exit_code, 0) << alone.text;
  ASSERT_EQ(together.exit_code, 0) << together.text;
  const std::string learned = figures(read_text(one));
  EXPECT_EQ(figures(read_text(two)), learned);
  EXPECT_EQ(different_tensors(results_ / "one", results_ / "two"), "");
  EXPECT_EQ(std::count(learned.begin(), learned.end(), '\n'), 3) << learned;
  expect_contains(together, "2 processes on 1 host: ");
  expect_contains(together, "verified: all replicas bitwise equal after each of 6 steps");
  expect_contains(together, " in each of 2 processes\n");
  EXPECT_EQ(together.text.find("sec/epoch"), together.text.rfind("sec/epoch"))
      << "only the first process shows";
}

TEST_F(RondoAcrossHosts, ResNetIsThatOfOneProcess) {
  SKIP_WITHOUT_MPI();
  const std::string command = RONDO_PROGRAM " train resnet18 --data " + data_.path().string() +
                              " --limit 16 --batch 8 --epochs 1 --momentum 0.9 --log ";
  const std::string one = results_ / "one.csv", two = results_ / "two.csv";
  const Output alone =
      run("SIMT_WORKERS=2 " + command + one + " --save " + (results_ / "one") + " --devices " + devices(2));
  const Output together =
      run(launch(2, command + two + " --save " + (results_ / "two") + " --devices 1 --verify"));
  ASSERT_EQ(alone.exit_code, 0) << alone.text;
  ASSERT_EQ(together.exit_code, 0) << together.text;
  EXPECT_EQ(figures(read_text(two)), figures(read_text(one)));
  EXPECT_EQ(different_tensors(results_ / "one", results_ / "two"), "");
  expect_contains(together, "verified: all replicas bitwise equal after each of 2 steps");
  EXPECT_EQ(together.text.find("wrote "), together.text.rfind("wrote " + two))
      << "only the first process writes";
}

TEST_F(RondoAcrossHosts, TheMlpIsThatOfOneProcess) {
  SKIP_WITHOUT_MPI();
  const std::string command =
      RONDO_PROGRAM " train mlp --layers 3 --width 16 --inputs 8 --batch 12 --steps 3 ";
  const auto loss = [](const Output& output) {
    const size_t begin = output.text.find("loss ");
    return output.text.substr(begin, output.text.find('\n', begin) - begin);
  };
  for (const std::string mode : {"sharded", "replicated"}) {
    const Output alone = run("SIMT_WORKERS=2 " + command + "--devices " + devices(4) + " --mode " + mode +
                             (mode == "sharded" ? " --group 2" : ""));
    const Output together = run(launch(2, command + "--devices " + devices(2) + " --verify --mode " + mode));
    ASSERT_EQ(alone.exit_code, 0) << alone.text;
    ASSERT_EQ(together.exit_code, 0) << together.text;
    EXPECT_EQ(loss(together), loss(alone)) << mode;
    expect_contains(together, "verified: all replicas bitwise equal");
  }
}

TEST_F(RondoAcrossHosts, ATimelineIsOfTheFirstProcess) {
  SKIP_WITHOUT_MPI();
  const std::string timeline = results_ / "timeline.json";
  const Output output = run(launch(2, train("--trace " + timeline)));
  ASSERT_EQ(output.exit_code, 0) << output.text;
  const std::string text = read_text(timeline);
  for (const char* span :
       {"partial sums", "finished sums", "add the processes' chunk 0", "chunk 0 to the host"})
    EXPECT_NE(text.find(span), std::string::npos) << span;
}

TEST_F(RondoAcrossHosts, AMistakeInAllProcessesIsReportedOnce) {
  SKIP_WITHOUT_MPI();
  const struct {
    std::string command, message;
  } mistakes[] = {
      {train("--algorithm ring"), "--algorithm is 'ring', must be automatic in 3 processes"},
      {train("--device-count-invariant"), "--device-count-invariant is not possible in 3 processes"},
      {train("--group 2"), "--group is 2, must not be given in 3 processes"},
      {train("--from-scratch"), "--from-scratch is for one process, 3 were started"},
      {RONDO_PROGRAM " train mlp --mode single",
       "--mode is 'single', must be sharded or replicated in 3 processes"},
      {RONDO_PROGRAM " broadcast -b 1K -e 1K", "rondo broadcast is for one process, 3 were started"},
  };
  for (const auto& mistake : mistakes) {
    const Output output = run(launch(3, mistake.command));
    EXPECT_EQ(output.exit_code, 2) << output.text;
    expect_contains(output, "rondo: process 0 (pid ");
    expect_contains(output, mistake.message);
    EXPECT_EQ(output.text.find(mistake.message), output.text.rfind(mistake.message)) << output.text;
  }
}

TEST_F(RondoAcrossHosts, DifferentOptionsAreRefused) {
  SKIP_WITHOUT_MPI();
  const Output output = run(launch(2, "sh -c '" + train("--seed $OMPI_COMM_WORLD_RANK") + "'"));
  EXPECT_EQ(output.exit_code, 2) << output.text;
  expect_contains(output, "DataParallel: the seed is 1 in process 1 (pid ");
}

TEST_F(RondoAcrossHosts, DifferentTrainingsAreRefused) {
  SKIP_WITHOUT_MPI();
  const std::string lenet = train("--devices 1 --timeout 10 "),
                    mlp = RONDO_PROGRAM " train mlp --timeout 10 --layers 1 --width 4 --inputs 4 --batch 4 ";
  const struct {
    std::string commands[2];
    std::string message;
  } differences[] = {
      {{lenet, lenet + "--momentum 0.9"}, "--momentum is 0.9"},
      {{lenet + "--lr 0.2000005", lenet}, "--lr is 0.2 in process 1"},
      {{lenet, lenet + "--limit 39"}, "--data is "},
      {{lenet, lenet + "--no-sync-bn"}, ": LeNet has no batch normalisation"},
      {{lenet, lenet + "--reduce-dtype bf16"}, "reduce_dtype is bfloat16 in process 1"},
      {{mlp, mlp + "--lr 0.5"}, "--lr is 0.5 in process 1"},
      {{mlp + "--steps 2", mlp + "--steps 3"}, "--steps is 3 in process 1"},
      {{mlp, mlp + "--verify"}, "--verify is given in process 1"},
      {{mlp, mlp + "--mode replicated"}, "the placement is 1 in process 1"},
  };
  for (const auto& difference : differences) {
    const Output output = run(launch(1, difference.commands[0] + " : -np 1 " + difference.commands[1]));
    EXPECT_EQ(output.exit_code, 2) << output.text;
    expect_contains(output, difference.message);
    EXPECT_LT(output.seconds, 10) << difference.message;
  }
}

// As on two hosts, whose folders have different files of one name.
TEST_F(RondoAcrossHosts, DifferentCheckpointsAreRefused) {
  SKIP_WITHOUT_MPI();
  std::string resumed[2];
  for (const int process : {0, 1}) {
    const std::string path = results_ / concat("of_", process);
    const Output saved = run("SIMT_WORKERS=2 " + train(concat("--devices ", devices(2), " --lr 0.",
                                                              process + 1, " --save ", path)));
    ASSERT_EQ(saved.exit_code, 0) << saved.text;
    resumed[process] = train("--devices 1 --timeout 10 --resume " + path);
  }
  const Output output = run(launch(1, resumed[0] + " : -np 1 " + resumed[1]));
  EXPECT_EQ(output.exit_code, 2) << output.text;
  expect_contains(output, "the checkpoint's checksum is ");
  EXPECT_LT(output.seconds, 10);
}

// Without the check, each of these would time out or fail with an error of MPI.
TEST_F(RondoAcrossHosts, DifferentOptionsOfTheAllReduceAreRefused) {
  SKIP_WITHOUT_MPI();
  const std::string measure = "allreduce -T 10 ", small = measure + "-b 1K -e 2K -f 2 ";
  const struct {
    std::string options[2];
    std::string message;
  } differences[] = {
      {{measure + "-e 4K -b 1024", measure + "-e 4K -b 2K"}, "-b is 2 KiB in process 1 (pid "},
      {{small, measure + "-b 1K -e 4K -f 2"}, "-e is 4 KiB in process 1 (pid "},
      {{small + "-g 1", small + "-g 2"}, "-g is 2 in process 1 (pid "},
      {{small + "-n 3", small + "-n 4"}, "-n is 4 in process 1 (pid "},
      {{small + "-d all", small + "-d half"}, "-d is half in process 1 (pid "},
      {{small + "-o max", small + "-o avg"}, "-o is avg in process 1 (pid "},
      {{small, small + "--trace " + std::string(results_ / "t.json")}, "--trace is given in process 1 (pid "},
      {{small, "broadcast -T 10 -b 1K -e 2K -f 2"}, "the command is broadcast in process 1 (pid "},
      {{small, "train lenet --timeout 10 --data " + data_.path().string()},
       " at 'comparing the options of rondo"},
  };
  for (const auto& difference : differences) {
    const auto command = [&](int process) { return RONDO_PROGRAM " " + difference.options[process]; };
    const Output output = run(launch(1, command(0) + " : -np 1 " + command(1)));
    EXPECT_EQ(output.exit_code, 2) << output.text;
    expect_contains(output, difference.message);
    EXPECT_LT(output.seconds, 10) << difference.message;
  }
}

TEST_F(RondoAcrossHosts, MeasuresTheAllReduce) {
  SKIP_WITHOUT_MPI();
  const Output output =
      run(launch(2, RONDO_PROGRAM " allreduce -b 4 -e 16K -f 4096 -n 2 -g 2 -d half -o avg -G 2"));
  ASSERT_EQ(output.exit_code, 0) << output.text;
  expect_contains(output, "# allreduce on 4 ranks: 2 processes on 1 host: ");
  expect_contains(output, "# Out of bounds values : 0 OK");
  EXPECT_EQ(output.text.find("# Avg"), output.text.rfind("# Avg")) << "only the first process shows";
}

}  // namespace
}  // namespace rondo::test
