// The built program: exit codes, messages, and the files that it leaves.
// Above 400 lines because the tests run one program in the same ways.
#include <gtest/gtest.h>
#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/tests/rondo/support/built_program.h>
#include <rondo/tests/rondo/support/xml.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

namespace rondo::test {
namespace {

class Command : public BuiltProgram {
 protected:
  Command() { write_data_set(data_.path(), 40, 20); }

  Outcome train(const std::string& options) { return run_line("train lenet " + options); }
  std::string small() { return "--data " + data_.path().string() + " --epochs 2 --batch 16 "; }

  // Refused, whatever the other options are.
  void expect_refused(const std::string& options, const std::vector<std::string>& parts) {
    BuiltProgram::expect_refused("train lenet --log " + (results_ / "log.csv") + " --plot " +
                                     (results_ / "plot.svg") + " --trace " + (results_ / "trace.json") +
                                     " --html " + (results_ / "run.html") + " " + options,
                                 parts);
  }
};

std::string last_line_of(const std::string& text) {
  const size_t end = text.find_last_not_of('\n');
  const size_t begin = text.rfind('\n', end);
  return text.substr(begin + 1, end - begin);
}

TEST_F(Command, HelpAndVersion) {
  EXPECT_EQ(run({"--help"}).code, 0);
  EXPECT_EQ(missing(run({"--help"}).out, {"train", "devices"}), "");
  EXPECT_EQ(run({"train", "--help"}).code, 0);
  EXPECT_EQ(run({"--version"}).code, 0);
  EXPECT_EQ(run({"--version"}).out.rfind("rondo ", 0), 0u);
}

TEST_F(Command, Devices) {
  const Outcome outcome = run({"devices"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(missing(outcome.out, {"device", "name", "memory", ":0", "capability"}), "");
}

// A training, its state dict, and one that begins with it have the same accuracy.
TEST_F(Command, ConvertsAndEvaluates) {
  const TemporaryDirectory made;
  const std::string run = made / "run", dict = made / "dict", back = made / "back";
  ASSERT_EQ(train(small() + "--devices 1 --save " + run).code, 0);
  ASSERT_EQ(run_line("convert lenet " + run + " " + dict).out,
            "wrote " + dict + ": 129,068 parameters of lenet as a PyTorch state dict\n");
  ASSERT_EQ(run_line("convert lenet " + dict + " " + back).out,
            "wrote " + back + ": 129,068 parameters of lenet of Rondo\n");
  const std::string data = " --data " + data_.path().string();
  const std::string want = last_line_of(run_line("evaluate lenet " + run + data).out);
  EXPECT_EQ(missing(want, {"test loss: ", "test acc: ", " of 20 images"}), "");
  for (const std::string& file : {dict, back, back + " --devices 3 --batch 7"})
    EXPECT_EQ(last_line_of(run_line("evaluate lenet " + file + data).out), want) << file;
  EXPECT_EQ(missing(run_line("evaluate lenet " + dict + data + " --limit 3").out, {" of 3 images"}), "");
  const Outcome further = train(small() + "--lr 1e-30 --save " + (made / "further") + " --from " + dict);
  EXPECT_EQ(missing(further.out, {"from      " + dict, "loaded weights"}), "") << further.text();
  EXPECT_EQ(last_line_of(run_line("evaluate lenet " + (made / "further") + data).out), want);
  const std::string names = made / "names.json";
  write_file(names, bytes_of("{\"0\": \"conv\"}"));
  EXPECT_EQ(run_line("convert lenet " + run + " " + dict + " --names " + names).code, 0);
  EXPECT_EQ(last_line_of(run_line("evaluate lenet " + dict + data + " --names " + names).out), want);
  BuiltProgram::expect_refused("evaluate lenet " + dict + data,
                               {dict, "missing: '0.weight' F32 [20, 1, 3, 3]"});
  BuiltProgram::expect_refused("evaluate lenet " + run + data + " --names " + names, {"without names"});
  BuiltProgram::expect_refused("convert lenet " + run + " " + run,
                               {"to is '" + run + "'", "must be another"});
  BuiltProgram::expect_refused("convert resnet18 " + run + " " + (results_ / "x"),
                               {run, "'0.weight' is F32 [20, 3, 3, 1]"});
  expect_refused("--from " + dict + " --resume " + run, {"--resume excludes --from"});
  expect_refused("--from " + dict + " --weights kaiming", {"--weights excludes --from"});
  expect_refused("--names " + names, {"--names requires --from"});
}

TEST_F(Command, PlansOfProductsInEveryBuild) {
  const Outcome outcome = run_line("profile gemm --plan --gpu all --m 512 --type float16");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(missing(outcome.out, {"gemm 512 x 1024 x 1024, float16", "t4", "b200", "tc_04_pipelined"}), "");
  BuiltProgram::expect_refused("profile gemm --plan --gpu v100", {"'v100'", "h100", "all"});
}

TEST_F(Command, Check) {
  BuiltProgram::expect_refused("check", {"no command"});
  BuiltProgram::expect_refused("check profile gemm", {"'profile'", "cannot be checked"});
#ifdef SIMT_OBSERVE
  const Outcome outcome = run_line("check allreduce --devices 2 -b 1K -e 1K");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(run_line("check nonsense").code, 2);
#else
  BuiltProgram::expect_refused("check allreduce --devices 2", {"cannot check", "observe"});
#endif
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these need terabytes of address space

// A thousand stacks of 8 MiB exceed the address space limit.
TEST_F(Command, ThreadsThatCannotStart) {
  if (std::string(platform()) != "cpu") GTEST_SKIP() << "the CPU executor's threads";
  for (const std::string command : {"devices", "train mlp", "links"}) {
    const std::string out = results_ / "out", err = results_ / "err";
    const int status =
        std::system(("ulimit -s 8192; ulimit -v 1000000; SIMT_WORKERS=1000 timeout 60 " RONDO_PROGRAM " " +
                     command + " > " + out + " 2> " + err)
                        .c_str());
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 1) << command;
    EXPECT_EQ(read_text(out), "") << command;
    EXPECT_EQ(missing(read_text(err), {"simt: the executor could not start: only ", " of 1000 worker threads",
                                       "\nrondo: counting the devices: initialization error"}),
              "")
        << read_text(err);
  }
}

#endif

TEST_F(Command, Schedule) {
  const Outcome table = run({"schedule", "--ranks", "4"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(missing(table.out, {"4 ranks: 6 steps", "reduce-scatter", "all-gather", "3 -> 0  3 2 1"}), "");
  EXPECT_EQ(run({"schedule", "--ranks", "4", "--svg", results_ / "ring.svg"}).code, 0);
  EXPECT_EQ(XmlCheck::fault(read_text(results_ / "ring.svg")), "");
  const Outcome nowhere = run({"schedule", "--ranks", "4", "--svg", results_ / "absent/ring.svg"});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_EQ(nowhere.out, "");
  EXPECT_EQ(missing(nowhere.err, {"rondo: --svg", "absent"}), "");
}

TEST_F(Command, Scale) {
  const Outcome outcome = run({"scale", "--bytes", "25MB", "--devices", "64", "--plot",
                               results_ / "scale.svg", "--json", results_ / "scale.json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(
      missing(outcome.out, {"Predicted, not measured", "nvlink", "network", "25 MB", "beats the flat ring"}),
      "");
  EXPECT_EQ(XmlCheck::fault(read_text(results_ / "scale.svg")), "");
  EXPECT_EQ(nlohmann::json::parse(read_text(results_ / "scale.json"))["sizes"][0]["bytes"], 25'000'000);
  const Outcome same = run({"scale", "--plot", results_ / "same", "--json", results_ / "same"});
  EXPECT_EQ(same.code, 2);
  EXPECT_EQ(same.out, "");
  EXPECT_EQ(std::count(same.err.begin(), same.err.end(), '\n'), 1) << same.err;
  EXPECT_EQ(missing(same.err, {"--plot", "--json", "same file"}), "");
  EXPECT_EQ(run({"scale", "--links", "wire,network"}).code, 2);
  EXPECT_EQ(results_.files(), 2u);
}

TEST_F(Command, Shard) {
  const Outcome outcome =
      run({"shard", "--array", "batch", "--devices", "3", "--svg", results_ / "shard.svg"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(missing(outcome.out, {"A batch of lenet", "256 samples", device_label(2)}), "");
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << "colours in a file";
  EXPECT_EQ(XmlCheck::fault(read_text(results_ / "shard.svg")), "");
  const Outcome nowhere = run({"shard", "--array", "batch", "--svg", results_ / "absent/shard.svg"});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_EQ(nowhere.out, "");
  EXPECT_EQ(run({"shard"}).code, 2);
}

TEST_F(Command, BanksAndSectors) {
  const Outcome banks =
      run({"banks", "thread * 32", "--svg", results_ / "banks.svg", "--json", results_ / "banks.json"});
  EXPECT_EQ(banks.code, 0) << banks.err;
  EXPECT_EQ(missing(banks.out, {"A warp loads 4 bytes per thread at index thread * 32", "32: 0-31",
                                "wavefronts 32, at least 1: 31 bank conflicts, 32-way"}),
            "");
  EXPECT_EQ(XmlCheck::fault(read_text(results_ / "banks.svg")), "");
  EXPECT_EQ(nlohmann::json::parse(read_text(results_ / "banks.json"))["conflicts"], 31);
  const Outcome sectors =
      run({"sectors", "thread * 32", "--svg", results_ / "sectors.svg", "--json", results_ / "sectors.json"});
  EXPECT_EQ(sectors.code, 0) << sectors.err;
  EXPECT_EQ(missing(sectors.out, {"3968 ", "1024 bytes moved for 128 asked for, efficiency 12.5 %"}), "");
  EXPECT_EQ(XmlCheck::fault(read_text(results_ / "sectors.svg")), "");
  EXPECT_EQ(nlohmann::json::parse(read_text(results_ / "sectors.json"))["sectors"], 32);
  for (const std::string command : {"banks", "sectors"}) {
    const Outcome wrong = run({command, "64 / thread", "--svg", results_ / "none.svg"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_EQ(wrong.out, "");
    EXPECT_EQ(wrong.err, "rondo: the expression '64 / thread' divides by zero for thread 0\n");
  }
  EXPECT_EQ(results_.files(), 4u);
}

TEST_F(Command, Plot) {
  const std::string log =
      "epoch,train_loss,test_accuracy,seconds,load_seconds,forward_seconds,backward_seconds,reduce_seconds,"
      "update_seconds,learning_rate\n1,2,0.5,3,0,0,0,0,0,0.1\n";
  write_file(results_ / "one.csv", bytes_of(log));
  write_file(results_ / "two.csv", bytes_of(log));
  const Outcome outcome = run({"plot", results_ / "one.csv", results_ / "two.csv", "--name", "one device",
                               "--name", "two devices", "--svg", results_ / "runs.svg"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(missing(outcome.out, {"one device: 1 epoch, loss 2.0000", "two devices: 1 epoch,"}), "");
  EXPECT_EQ(XmlCheck::fault(read_text(results_ / "runs.svg")), "");
  const Outcome over = run({"plot", results_ / "one.csv", "--svg", results_ / "one.csv"});
  EXPECT_EQ(over.code, 2);
  EXPECT_EQ(over.out, "");
  EXPECT_EQ(read_text(results_ / "one.csv"), log);
  EXPECT_EQ(run({"plot"}).code, 2);
}

// Reading a pipe without a writer would block, and /dev/zero has no end.
TEST_F(Command, SpecialFilesAreRefused) {
  alarm(60);
  const std::string pipe = results_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto refused = [&](const std::vector<std::string>& words, const std::string& kind) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.err.substr(0, 7), "rondo: ");
    EXPECT_EQ(missing(outcome.err, {kind + ", must be a regular file"}), "");
  };
  const std::string svg = results_ / "runs.svg";
  refused({"plot", pipe, "--svg", svg}, "'" + pipe + "' is a pipe");
  refused({"plot", "/dev/zero", "--svg", svg}, "'/dev/zero' is a character device");
  refused({"plot", results_.path(), "--svg", svg}, "'" + results_.path().string() + "' is a folder");
  refused({"train", "resnet18", "--data", data_.path(), "--batch", "4", "--resume", pipe},
          "'" + pipe + "' is a pipe");
  const std::string labels = data_ / "train-labels-idx1-ubyte.gz";
  std::filesystem::remove(labels);
  ASSERT_EQ(mkfifo(labels.c_str(), 0600), 0);
  for (const char* command : {"train lenet", "train resnet18", "strategies lenet"})
    refused(words_of(command + (" --data " + data_.path().string())), "'" + labels + "' is a pipe");
  alarm(0);
  EXPECT_EQ(results_.files(), 1u) << "nothing but the pipe";
}

// Control characters in an external value are escaped, so that the message stays one line.
TEST_F(Command, ControlCharactersAreEscaped) {
  const std::string evil = "\x1b[2J\n\x07\xc2\x9b", shown = "\\x1b[2J\\n\\x07\\xc2\\x9b";
  const auto plain = [](const std::string& text) {
    return std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
  };
  const std::string svg = results_ / "runs.svg";
  write_file(results_ / "lines.csv", bytes_of("\x1b[2J\n"));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"train", "lenet", "--epochs", evil},
                                                {"train", "lenet", "--devices", evil},
                                                {"train", evil},
                                                {"train", "lenet", "--data", evil},
                                                {"train", "resnet18", "--resume", evil},
                                                {"train", "lenet", "--log", evil + "/a"},
                                                {"plot", evil, "--svg", svg},
                                                {evil},
                                                {"schedule", "--ranks", evil},
                                                {"allreduce", "-b", evil},
                                                {"shard", "--mesh", evil},
                                                {"plot", results_ / "lines.csv", "--svg", svg},
                                                {"train", "lenet", "--" + evil}}) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_TRUE(plain(outcome.text())) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_EQ(missing(outcome.err, {"\\x1b[2J"}), "");
  }
  EXPECT_EQ(missing(run({"schedule", "--ranks", evil}).err, {"'" + shown + "'"}), "");

  // A run that succeeds prints such values, too.
  const std::string log =
      "epoch,train_loss,test_accuracy,seconds,load_seconds,forward_seconds,backward_seconds,reduce_seconds,"
      "update_seconds,learning_rate\n1,2,0.5,3,0,0,0,0,0,0.1\n";
  write_file(results_ / (evil + ".csv"), bytes_of(log));
  const Outcome drawn = run({"plot", results_ / (evil + ".csv"), "--svg", svg});
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  EXPECT_TRUE(plain(drawn.text()));
  EXPECT_EQ(missing(drawn.out, {shown + ": 1 epoch"}), "");
  const Outcome written = run({"schedule", "--ranks", "2", "--svg", results_ / (evil + ".svg")});
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_TRUE(plain(written.text()));
  EXPECT_EQ(missing(written.out, {shown + ".svg"}), "");
}

TEST_F(Command, BadValues) {
  expect_refused("--epochs 0", {"--epochs", "'0'", "1 to"});
  expect_refused("--batch -5", {"--batch", "'-5'"});
  expect_refused("--lr nan", {"--lr", "'nan'", "above 0"});
  expect_refused("--devices 0", {"--devices", "'0'", "1 to 64"});
  expect_refused("--devices 0,nine", {"'nine'"});
  expect_refused("--seed -1", {"--seed", "'-1'"});
  expect_refused("--limit many", {"--limit", "'many'"});
  expect_refused("--nonsense", {"--nonsense"});
  EXPECT_EQ(run({"train", "resnet"}).code, 2);
  EXPECT_EQ(run({"train"}).code, 2);
  EXPECT_EQ(run({"nothing"}).code, 2);
}

TEST_F(Command, ValuesThatDoNotFitTheData) {
  // Device 0 once for each replica: a machine with one GPU refuses other devices first.
  std::string of_41 = "--devices 0";
  for (int replica = 1; replica < 41; ++replica) of_41 += ",0";
  expect_refused(of_41 + " --data " + data_.path().string(), {"41", "at most 40"});
  expect_refused(small() + of_41, {"--batch is 16: it must be at least 41"});
  expect_refused("--limit 3 --devices 0,0,0,0 --data " + data_.path().string(),
                 {"4 replicas", "at most 3", "--limit 3"});
  expect_refused("--limit 1 --data " + data_.path().string(),
                 {"--devices", "2 replicas when it is not given", "at most 1", "--limit 1"});
  expect_refused("--batch 41 --data " + data_.path().string(), {"--batch is 41", "at most 40"});
  for (const std::string devices : {"", "--devices 2 ", "--devices 0,0 "}) {
    expect_refused(
        devices + "--batch 1 --data " + data_.path().string(),
        {"--batch is 1: it must be at least 2, one sample for each of the 2 replicas of --devices"});
  }
  const std::string data = " --data " + data_.path().string();
  expect_refused("--warmup-steps 1000" + data, {"--warmup-steps: the warm-up has 1000 steps"});
  expect_refused("--lr 0.2 --schedule cosine:0.5" + data,
                 {"--schedule: ", "'0.5'", "0.2, the learning rate"});
}

TEST_F(Command, DevicesThatAreNotThere) {
  if (std::string(platform()) == "cpu") GTEST_SKIP() << "the CPU executor makes as many devices as asked for";
  expect_refused(small() + "--devices 0,63", {"device 63", "this machine has", "--devices 0,0"});
}

// The default is two ranks, each on its own device if there are two devices.
TEST_F(Command, DevicesByDefault) {
  const Outcome outcome = train(small());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const bool shared = std::string(platform()) == "cuda" && device_count() == 1;
  const std::string second = device_label(shared ? 0 : 1);
  EXPECT_EQ(missing(last_line_of(outcome.out), {" on [" + device_label(0) + ", " + second + "]"}), "");
  EXPECT_EQ(outcome.out.find("two ranks share cuda:0: this machine has one GPU") != std::string::npos, shared)
      << outcome.out;
}

TEST_F(Command, BadData) {
  expect_refused("--data " + (data_ / "absent"), {"absent", "does not exist"});
  expect_refused("--data " + results_.path().string(), {results_.path().string(), "train-images-idx3-ubyte"});
  write_file(data_ / "t10k-labels-idx1-ubyte.gz", bytes_of("<html>404</html>"));
  expect_refused(small(), {"t10k-labels-idx1-ubyte.gz", "web page"});
  write_file(data_ / "t10k-labels-idx1-ubyte.gz", gzip(idx({21}, pattern(21, 10))));
  expect_refused(small(), {"t10k-labels-idx1-ubyte.gz", "21 labels", "20"});
  Bytes cut = gzip(idx({20}, pattern(20, 10)));
  cut.resize(cut.size() / 2);
  write_file(data_ / "t10k-labels-idx1-ubyte.gz", cut);
  expect_refused(small(), {"t10k-labels-idx1-ubyte.gz", "cut off"});
}

TEST_F(Command, OutputsAreCheckedBeforeTheTraining) {
  for (const std::string option : {"--log", "--plot", "--trace", "--html"}) {
    const Outcome outcome = train(small() + option + " " + (results_ / "absent/file"));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(missing(outcome.err, {option, "absent/file"}), "");
    EXPECT_EQ(outcome.out.find("epoch "), std::string::npos) << "the training began";
  }
  const std::string same = results_ / "same";
  const Outcome outcome = train(small() + "--log " + same + " --plot " + same);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(missing(outcome.err, {"--plot", "same file", "--log"}), "");
  const Outcome page = train(small() + "--html " + same + " --trace " + same);
  EXPECT_EQ(page.code, 2);
  EXPECT_EQ(missing(page.err, {"--html", "same file", "--trace"}), "");
  EXPECT_EQ(results_.files(), 0u);
}

TEST_F(Command, TrainsAndWritesAllOutputs) {
  const Outcome outcome =
      train(small() + "--devices 0,0 --verify --log " + (results_ / "log.csv") + " --plot " +
            (results_ / "plot.svg") + " --trace " + (results_ / "trace.json"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(
      missing(outcome.out, {"40 training and 20 test images", "not the original Fashion-MNIST",
                            "lenet, 129,068 parameters (rondo summary lenet shows them)",
                            "2 epochs of 3 steps", "1/2", "2/2", "bitwise equal after each of 6 steps"}),
      "");
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << "control characters in a file";
  EXPECT_EQ(outcome.out.find('\r'), std::string::npos);
  const std::string last = last_line_of(outcome.out);
  EXPECT_EQ(last.rfind("test acc: 0.", 0), 0u) << last;
  EXPECT_EQ(missing(last, {" sec/epoch on [", ":0, ", ":0]"}), "");

  EXPECT_EQ(results_.files(), 3u);
  const std::string log = read_text(results_ / "log.csv");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 3);
  EXPECT_EQ(XmlCheck::fault(read_text(results_ / "plot.svg")), "");

  const nlohmann::json trace = nlohmann::json::parse(read_text(results_ / "trace.json"));
  std::set<std::string> categories;
  std::set<int> ranks;
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    categories.insert(event.at("cat"));
    ranks.insert(event.at("pid").get<int>());
    EXPECT_GE(event.at("dur").get<double>(), 0);
  }
  EXPECT_EQ(ranks, (std::set<int>{0, 1}));
  EXPECT_GE(categories.size(), 2u) << "kernels and ring steps should both be there";
}

TEST_F(Command, TheSameArgumentsGiveTheSameNumbers) {
  for (const char* name : {"a.csv", "b.csv"})
    ASSERT_EQ(train(small() + "--seed 7 --log " + (results_ / name)).code, 0);
  const auto figures = [&](const std::string& name) {  // epoch, loss, accuracy; the times differ
    std::istringstream lines(read_text(results_ / name));
    std::string kept;
    for (std::string line; std::getline(lines, line);) {
      size_t comma = 0;
      for (int i = 0; i < 3; ++i) comma = line.find(',', comma + 1);
      kept += line.substr(0, comma) + "\n";
    }
    return kept;
  };
  EXPECT_NE(figures("a.csv"), "");
  EXPECT_EQ(figures("a.csv"), figures("b.csv"));
}

// A diverging learning rate is a failure of the run and not a wrong argument: the exit code is 1, and the log
// has the epochs before.
TEST_F(Command, DivergenceIsReported) {
  const Outcome outcome = train("--data " + data_.path().string() +
                                " --batch 16 --lr 1000 --epochs 20 --log " + (results_ / "log.csv"));
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  EXPECT_EQ(missing(outcome.err, {"rondo: the loss of epoch", "diverged", "1000"}), "");
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_EQ(results_.files(), 1u);
}

// A write beyond the file size limit raises a signal, which would end the program and leave a temporary file.
TEST_F(Command, AFileBeyondTheLimitIsAFailure) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small_files = {4096, limit.rlim_max};  // enough for the streams, too little for the trace
  const auto handler = signal(SIGXFSZ, SIG_DFL);      // a signal ignored here would be ignored in the program
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small_files), 0);
  const Outcome outcome = train(small() + "--trace " + (results_ / "trace.json"));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(outcome.code, 1) << outcome.out;
  EXPECT_EQ(outcome.err, "rondo: " + (results_ / "trace.json") +
                             ": writing failed, no file was written (File too large)\n");
  EXPECT_EQ(results_.files(), 0u) << "a temporary is left";
}

// A launcher's processes write to a terminal of its own, whatever its output is.
TEST_F(Command, UnderALauncherThereAreNoColours) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(grantpt(terminal), 0);
  ASSERT_EQ(unlockpt(terminal), 0);
  unsetenv("NO_COLOR");
  setenv("TERM", "xterm", 1);
  const int keeps_it_open = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  for (const bool launched : {false, true}) {
    if (launched) setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    EXPECT_EQ(run(words_of("train lenet " + small()), ptsname(terminal)).code, 0);
    std::string text(1 << 16, ' ');
    text.resize(static_cast<size_t>(std::max<ssize_t>(read(terminal, text.data(), text.size()), 0)));
    EXPECT_EQ(missing(text, {"lenet"}), "");
    EXPECT_EQ(text.find("\x1b[") == std::string::npos, launched) << text;
  }
  unsetenv("OMPI_COMM_WORLD_SIZE");
  close(keeps_it_open);
  close(terminal);
}

// Otherwise a file that the program opens would get its number and what it prints.
TEST_F(Command, AClosedOutputIsAFailure) {
  const std::string saved = results_ / "saved";
  ASSERT_EQ(std::system(concat(program_, " train lenet ", small(), "--save ", saved, " >&- 2>",
                               streams_ / "err", "; echo $? >", streams_ / "code")
                            .c_str()),
            0);
  EXPECT_EQ(read_text(streams_ / "code"), "1\n");
  EXPECT_EQ(missing(read_text(streams_ / "err"), {"the standard output could not be written"}), "");
}

TEST_F(Command, AFullOutputIsAFailure) {
  const Outcome outcome = run({"--help"}, "/dev/full");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(missing(outcome.err, {"standard output"}), "");
}

}  // namespace
}  // namespace rondo::test
