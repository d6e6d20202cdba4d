// Several processes do what one does, bit by bit; and when one of them does not, the others say which.
#include <gtest/gtest.h>

#include <rondo/collectives/across_hosts/mpi_process_group.h>
#include <rondo/collectives/across_hosts/waiting.h>

#include <sys/wait.h>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>

namespace rondo {
namespace {

struct Output {
  int exit_code;
  std::string text;  // of standard output and error
  double seconds;
};

Output run(const std::string& command) {
  const auto begin = std::chrono::steady_clock::now();
  Output output{-1, "", 0};
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return output;
  std::array<char, 4096> part = {};
  while (const size_t read = std::fread(part.data(), 1, part.size(), pipe))
    output.text.append(part.data(), read);
  const int status = pclose(pipe);
  output.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  output.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return output;
}

bool has_launcher() {
  return has_mpi() && run("command -v " MPIEXEC " && " MPIEXEC " --version").exit_code == 0;
}

// Settings for a machine that has fewer cores than processes, and on which the user may be root. MPI that is not
// Open MPI ignores them.
constexpr const char* kSettings =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
    "OMPI_MCA_btl_vader_single_copy_mechanism=none SIMT_WORKERS=1 ";

std::string launch(int processes, const std::string& command, int timeout_ms = 20'000) {
  return concat(kSettings, "TIMEOUT_MS=", timeout_ms,
                " ASAN_OPTIONS=detect_leaks=0 timeout 100 " MPIEXEC " -np ", processes, " ", command);
}
std::string program(const std::string& arguments) { return ACROSS_HOSTS_PROGRAM " " + arguments; }

#define SKIP_WITHOUT_MPI() \
  if (!has_launcher()) GTEST_SKIP() << "no MPI, or no " MPIEXEC " that runs"

// What one process says with all the ranks, in groups, and several with theirs.
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

TEST(AcrossHosts, LeNetLearnsTheSameInTwoProcesses) {
  SKIP_WITHOUT_MPI();
  expect_same_output(ACROSS_HOSTS_LENET " 4 2", 2, ACROSS_HOSTS_LENET " 2 0", 100);
}
TEST(AcrossHosts, LeNetLearnsTheSameInFourProcesses) {
  SKIP_WITHOUT_MPI();
  expect_same_output(ACROSS_HOSTS_LENET " 4 1", 4, ACROSS_HOSTS_LENET " 1 0", 100);
}

void expect_says(const Output& output, const std::string& what) {
  EXPECT_NE(output.text.find(what), std::string::npos) << "'" << what << "' is not in:\n" << output.text;
}

TEST(AcrossHosts, CallsThatDifferAreRefusedEverywhere) {
  SKIP_WITHOUT_MPI();
  const Output output = run(launch(2, program("mismatch 2 0")));
  ASSERT_EQ(output.exit_code, 0) << output.text;
  expect_says(output, "bad argument: all_reduce: process 1 (pid ");
  expect_says(output, " calls all_reduce of 101 elements of float32, sum, on communicator ");
  expect_says(output, " calls all_reduce of 100 elements of int32, sum, on communicator ");
  expect_says(output, " calls all_reduce of 100 elements of float32, max, on communicator ");
  expect_says(output, " refused its call, so that nothing was done");
  expect_says(output, "the algorithm is ring, must be hierarchical or automatic across 2 processes");
  expect_says(output, "barrier: the communicator has ranks in 2 processes");
  expect_says(output, "and all is well afterwards: ");
}

TEST(AcrossHosts, CommunicatorsThatDifferAreRefused) {
  SKIP_WITHOUT_MPI();
  const Output output = run(launch(2, program("layout 1 0")));
  EXPECT_EQ(output.exit_code, 3);
  expect_says(output, " has 2 ranks and process 0 (pid ");
}

void expect_process_1_to_blame(const std::string& scenario, const std::string& doing) {
  const Output output = run(launch(4, program(scenario), 800));
  EXPECT_EQ(output.exit_code, 3) << output.text;
  EXPECT_LT(output.seconds, 15);
  expect_says(output, doing + ": nothing came from process 1 (pid ");
  for (const char* innocent : {"0", "2", "3"})
    EXPECT_EQ(output.text.find(std::string("nothing came from process ") + innocent), std::string::npos)
        << output.text;
  EXPECT_EQ(output.text.find(" and process "), std::string::npos) << output.text;
}

TEST(AcrossHosts, AStoppedProcessIsNamed) {
  SKIP_WITHOUT_MPI();
  expect_process_1_to_blame("stop 1 0", "the call of all_reduce");
}
TEST(AcrossHosts, AProcessThatStopsBetweenReplaysIsNamed) {
  SKIP_WITHOUT_MPI();
  expect_process_1_to_blame("stop_replay 1 0", "all_reduce, partial sums");
}
TEST(AcrossHosts, TheFirstInARowOfThoseThatWaitIsNamed) {
  SKIP_WITHOUT_MPI();
  expect_process_1_to_blame("row 1 0", "");
}

// The launcher itself sees that one, and ends the others.
TEST(AcrossHosts, AKilledProcessEndsTheOthers) {
  SKIP_WITHOUT_MPI();
  const Output output = run(launch(3, program("die 1 0")));
  EXPECT_NE(output.exit_code, 0) << output.text;
  EXPECT_LT(output.seconds, 15);
}

TEST(Waiting, BlamesWhoWasNotHeardOf) {
  Waiting waiting(std::chrono::milliseconds(400));
  waiting.heard_of(3);
  EXPECT_EQ(waiting.silent({2, 3}), std::vector<int>{2});
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  EXPECT_EQ(waiting.silent({2, 3}), (std::vector<int>{2, 3}));
  EXPECT_FALSE(waiting.is_over({2}));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(waiting.is_over({2}));
  waiting.heard_of(2);
  EXPECT_FALSE(waiting.is_over({2})) << "it waits itself";
  waiting.something_happened();
  EXPECT_FALSE(waiting.is_over({3}));
}

}  // namespace
}  // namespace rondo
