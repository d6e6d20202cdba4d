// Several processes give the same bits as one process. If a process stops, the error of the others names it.
#include <rondo/collectives/across_hosts/wait_tracker.h>
#include <rondo/tests/across_hosts/launcher.h>
#include <rondo/tests/support/skip_without_devices.h>

#include <cuda_runtime.h>

#include <algorithm>
#include <sstream>

namespace rondo::test {
namespace {

std::string program(const std::string& arguments) { return ACROSS_HOSTS_PROGRAM " " + arguments; }

// Compares the output of one process that runs all ranks in groups with that of several processes.
void expect_same_output(const std::string& alone, int processes, const std::string& together, size_t least) {
  const Output one = run("SIMT_WORKERS=2 " + alone), several = run(launch(processes, together));
  ASSERT_EQ(one.exit_code, 0) << one.text;
  ASSERT_EQ(several.exit_code, 0) << several.text;
  EXPECT_GT(one.text.size(), least);
  EXPECT_EQ(several.text, one.text);
}

void expect_same_bits(int processes, int ranks) {
  expect_same_output(program(concat("bits ", processes * ranks, " ", ranks)), processes,
                     program(concat("bits ", ranks, " 0")), 5000);
}

TEST(AcrossHosts, TwoProcessesOfOneRank) {
  SKIP_WITHOUT_MPI();
  expect_same_bits(2, 1);
}
TEST(AcrossHosts, TwoProcessesOfThreeRanks) {
  SKIP_WITHOUT_MPI();
  expect_same_bits(2, 3);
}
TEST(AcrossHosts, FourProcessesOfTwoRanks) {
  SKIP_WITHOUT_MPI();
  expect_same_bits(4, 2);
}

TEST(AcrossHosts, TrainingIsTheSameInTwoProcesses) {
  SKIP_WITHOUT_MPI();
  expect_same_output(ACROSS_HOSTS_TRAINING " 4 2", 2, ACROSS_HOSTS_TRAINING " 2 0", 100);
}
TEST(AcrossHosts, TrainingIsTheSameInFourProcesses) {
  SKIP_WITHOUT_MPI();
  expect_same_output(ACROSS_HOSTS_TRAINING " 4 1", 4, ACROSS_HOSTS_TRAINING " 1 0", 100);
}

TEST(AcrossHosts, GradientsAreReducedInBfloat16AsInOneProcess) {
  SKIP_WITHOUT_MPI();
  expect_same_output(ACROSS_HOSTS_TRAINING " 4 2 bf16", 2, ACROSS_HOSTS_TRAINING " 2 0 bf16", 100);
  const Output rounded = run("SIMT_WORKERS=2 " ACROSS_HOSTS_TRAINING " 4 2 bf16"),
               exact = run("SIMT_WORKERS=2 " ACROSS_HOSTS_TRAINING " 4 2");
  EXPECT_NE(rounded.text, exact.text);
  expect_contains(rounded, "\n0 values differ in ");
}

// Two processes send each partial sum and each finished sum once. The partial sums of a process of one rank
// are its gradients in bfloat16, those of several ranks are float32.
TEST(AcrossHosts, GradientsInBfloat16AreFewerBytes) {
  SKIP_WITHOUT_MPI();
  for (const auto& [ranks, line] : {std::pair(1, "8 4 \n"), std::pair(2, "8 6 \n")}) {
    const Output output = run(launch(2, concat(ACROSS_HOSTS_TRAINING " bytes ", ranks)));
    ASSERT_EQ(output.exit_code, 0) << output.text;
    EXPECT_EQ(output.text, line);
  }
}

// Expects the same line from three processes, in any order.
void expect_the_same_of_three(const std::string& mode, const std::string& line) {
  const Output output = run(launch(3, ACROSS_HOSTS_TRAINING " " + mode + " 0"));
  ASSERT_EQ(output.exit_code, 0) << output.text;
  EXPECT_EQ(output.text, line + "\n" + line + "\n" + line + "\n");
}

// All processes search together.
TEST(AcrossHosts, ABadInputOfOneProcessIsFoundByAll) {
  SKIP_WITHOUT_MPI();
  expect_the_same_of_three("bad",
                           "replica 5: the network's input [image 15, row 3, column 4, channel 0] is inf");
}

TEST(AcrossHosts, OneProcessThatIsAskedToStopStopsAll) {
  SKIP_WITHOUT_MPI();
  expect_the_same_of_three("stop", "stopped in epoch 2 after 1 step: ");
}

TEST(AcrossHosts, ALostLossEndsAll) {
  SKIP_WITHOUT_MPI();
  const Output output = run(launch(3, ACROSS_HOSTS_TRAINING " diverge 0"));
  ASSERT_EQ(output.exit_code, 0) << output.text;
  const std::string line = output.text.substr(0, output.text.find('\n') + 1);
  EXPECT_EQ(output.text, line + line + line);
  expect_contains(output, "diverged in epoch 1 after ");
}

#ifdef __SIMT__
// If one process cannot replay a graph of its steps, none does: their messages would not match.
TEST(AcrossHosts, AllProcessesDoWithoutGraphsIfOneMust) {
  SKIP_WITHOUT_MPI();
  SKIP_WITHOUT_DEVICES(2);
  const auto lines_of = [](const std::string& mode) {
    const Output output = run(launch(3, ACROSS_HOSTS_TRAINING " " + mode + " 0"));
    EXPECT_EQ(output.exit_code, 0) << output.text;
    std::istringstream text(output.text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    std::ranges::sort(lines, {}, &std::string::size);  // the process that is the reason does not name itself
    return lines;
  };
  const std::vector<std::string> replayed = lines_of("graphs");
  ASSERT_EQ(replayed.size(), 3u);
  const std::string hash = replayed[0].substr(0, 17);
  for (const std::string& line : replayed) EXPECT_EQ(line, hash + ".");
  for (const auto& [mode, reason] :
       {std::pair<std::string, std::string>("memory", "making the step's graph executable: out of memory"),
        std::pair<std::string, std::string>("capture", "recording the step: all_reduce, rank "),
        // Of this step the other processes replay the graph.
        std::pair<std::string, std::string>("launch", "launching the step's graph: operation not supp")}) {
    const std::vector<std::string> lines = lines_of(mode);
    ASSERT_EQ(lines.size(), 3u) << mode;
    EXPECT_TRUE(lines[0].starts_with(hash + reason)) << lines[0];
    for (size_t i : {1, 2}) {
      EXPECT_TRUE(lines[i].starts_with(hash + "process 2 (pid ")) << lines[i];
      EXPECT_NE(lines[i].find("): " + reason), std::string::npos) << lines[i];
    }
  }
}
#endif

TEST(AcrossHosts, TrainingsThatDifferAreRefused) {
  SKIP_WITHOUT_MPI();
  const Output output = run(launch(2, ACROSS_HOSTS_TRAINING " batch 0"));
  EXPECT_EQ(output.exit_code, 3) << output.text;
  expect_contains(output, "DataParallel: the batch is 51 in process 1 (pid ");
  expect_contains(output, " and 50 in process 0 (pid ");
}

TEST(AcrossHosts, AReplicaThatDiffersInOneProcessIsFound) {
  SKIP_WITHOUT_MPI();
  const Output output = run(launch(3, ACROSS_HOSTS_TRAINING " check 0"));
  ASSERT_EQ(output.exit_code, 0) << output.text;
  EXPECT_EQ(output.text, "0 0 0 \n0 0 1 \n");
}

TEST(AcrossHosts, CallsThatDifferAreRefusedEverywhere) {
  SKIP_WITHOUT_MPI();
  const Output output = run(launch(2, program("mismatch 2 0")));
  ASSERT_EQ(output.exit_code, 0) << output.text;
  expect_contains(output, "bad argument: all_reduce: process 1 (pid ");
  expect_contains(output, " calls all_reduce of 101 elements of float32, sum, on communicator ");
  expect_contains(output, " calls all_reduce of 100 elements of int32, sum, on communicator ");
  expect_contains(output, " calls all_reduce of 100 elements of float32, max, on communicator ");
  expect_contains(output, " refused its call, so that nothing was done");
  expect_contains(output,
                  " calls all_reduce_coalesced of 2 vectors, together 100 elements of float32, sum, ");
  expect_contains(output,
                  " calls all_reduce_coalesced of 2 vectors, together 100 elements of float32, max, ");
  expect_contains(output, "the algorithm is ring, must be hierarchical or automatic across 2 processes");
  expect_contains(output, "barrier: the communicator has ranks in 2 processes");
  expect_contains(output, "all_reduce: process 1 (pid ");
  expect_contains(output, " is at 'lists' (1200 bytes) and process 0 (pid ");
  expect_contains(output, " is at 'numbers' (1200 bytes) and process 0 (pid ");
  expect_contains(output, " at 'numbers' (4 bytes), must be at the same");
  expect_contains(output, "and all is well afterwards: ");
}

TEST(AcrossHosts, CommunicatorsThatDifferAreRefused) {
  SKIP_WITHOUT_MPI();
  const Output output = run(launch(2, program("layout 1 0")));
  EXPECT_EQ(output.exit_code, 3);
  expect_contains(output, " has 2 ranks and process 0 (pid ");
}

// CUDA may run host functions one after another. Their order must not depend on which one is ready first.
TEST(AcrossHosts, MessagesOfTwoCommunicatorsKeepOneOrder) {
  SKIP_WITHOUT_MPI();
  for (const int ranks : {1, 2}) {
    const Output output = run(launch(2, program(concat("order ", ranks, " 0")), 3000));
    ASSERT_EQ(output.exit_code, 0) << output.text;
    expect_contains(output, "enqueued ");
    expect_contains(output, "replayed ");
  }
}

void expect_process_1_named(const std::string& scenario, const std::string& doing) {
  const Output output = run(launch(4, program(scenario), 800));
  EXPECT_EQ(output.exit_code, 3) << output.text;
  EXPECT_LT(output.seconds, 15);
  expect_contains(output, doing + ": nothing came from process 1 (pid ");
  // Ignores the lines of process 1 itself, which prints when it is resumed to be ended, and those after
  // MPI_Abort(), which ends the processes one after another: to the last one, the ended ones are silent.
  std::istringstream lines(output.text);
  for (std::string line; std::getline(lines, line) && line.find("MPI_ABORT") == std::string::npos;) {
    if (line.starts_with("process 1 ")) continue;
    for (const char* other : {"from process 0", "from process 2", "from process 3", " and process "})
      EXPECT_EQ(line.find(other), std::string::npos) << output.text;
  }
}

TEST(AcrossHosts, AStoppedProcessIsNamed) {
  SKIP_WITHOUT_MPI();
  expect_process_1_named("stop 1 0", "the call of all_reduce");
}
TEST(AcrossHosts, AProcessThatStopsBetweenReplaysIsNamed) {
  SKIP_WITHOUT_MPI();
  expect_process_1_named("stop_replay 1 0", "all_reduce, partial sums");
}
TEST(AcrossHosts, TheProcessThatOthersWaitForIsNamed) {
  SKIP_WITHOUT_MPI();
  expect_process_1_named("row 1 0", "");
}

// Here the launcher detects the failure and ends the other processes.
TEST(AcrossHosts, AKilledProcessEndsTheOthers) {
  SKIP_WITHOUT_MPI();
  const Output output = run(launch(3, program("die 1 0")));
  EXPECT_NE(output.exit_code, 0) << output.text;
  EXPECT_LT(output.seconds, 15);
}

void pause_for(WaitTracker& waiting, std::chrono::milliseconds time) {
  const auto end = WaitTracker::Clock::now() + time;
  while (WaitTracker::Clock::now() < end) waiting.pause();
}

TEST(MpiProcessGroup, ATimeoutThatIsNotAbove0IsRefused) {
  if (!has_mpi()) GTEST_SKIP() << "no MPI";
  for (const int milliseconds : {0, -5}) {
    MpiOptions options;
    options.timeout = std::chrono::milliseconds(milliseconds);
    try {
      make_mpi_process_group(options);
      ADD_FAILURE() << milliseconds << " was taken";
    } catch (const Error& error) {
      const std::string message = error.status().message();
      EXPECT_NE(message.find(concat("MPI: the timeout is ", milliseconds, " ms, must be above 0")),
                std::string::npos)
          << message;
    }
  }
}

TEST(WaitTracker, NamesTheUnresponsiveProcess) {
  using std::chrono::milliseconds;
  WaitTracker waiting(milliseconds(800));
  waiting.on_keepalive(3);
  EXPECT_EQ(waiting.unresponsive({2, 3}), std::vector<int>{2});
  pause_for(waiting, milliseconds(300));
  EXPECT_EQ(waiting.unresponsive({2, 3}), (std::vector<int>{2, 3}));
  EXPECT_FALSE(waiting.is_over({2}));
  while (!waiting.is_over({2})) waiting.pause();
  waiting.on_keepalive(2);
  EXPECT_FALSE(waiting.is_over({2})) << "it waits itself";
  waiting.on_progress();
  EXPECT_FALSE(waiting.is_over({3}));
}

TEST(WaitTracker, DoesNotCountTheTimeInWhichTheProcessWasStopped) {
  WaitTracker waiting(std::chrono::milliseconds(100));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  waiting.pause();
  EXPECT_FALSE(waiting.is_over({1}));
}

}  // namespace
}  // namespace rondo::test
