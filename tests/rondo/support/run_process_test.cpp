#include <gtest/gtest.h>

#include <poll.h>
#include <rondo/nn/io/regular_file.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tools/rondo/support/run_process.h>
#include <rondo/tools/rondo/support/temporary_folder.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace rondo::program {
namespace {

TEST(RunProcess, LeavesVariablesOut) {
  const TemporaryFolder folder("rondo-process");
  const std::string output = folder.path() / "output";
  setenv("RONDO_TEST_A", "1", 1);
  setenv("RONDO_TEST_B", "2", 1);
  run_process(
      {"sh", "-c", "echo $RONDO_TEST_A,$RONDO_TEST_B,$RONDO_TEST_C"},
      {.environment = {{"RONDO_TEST_B", "3"}}, .left_out = {"RONDO_TEST_"}, .standard_output = output});
  EXPECT_EQ(RegularFile(output).contents<std::string>(100), ",3,\n");
}

TEST(RunProcess, FilesHaveALimit) {
  const TemporaryFolder folder("rondo-process");
  const std::string output = folder.path() / "output";
  const ProcessEnd end = run_process({"sh", "-c", "sleep 0.2; exec head -c 20000 /dev/zero"},
                                     {.standard_output = output, .file_bytes = 5000});
  EXPECT_EQ(end.signal, SIGXFSZ);
  EXPECT_EQ(std::filesystem::file_size(output), 5000u);
}

TEST(RunProcess, LeavesNoDescriptorsOpen) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const TemporaryFolder folder("rondo-process");
  const auto before = open_files();
  run_process({"true"}, {.standard_output = folder.path() / "output"});
  EXPECT_THROW(run_process({"/no/such/program"}, {}), Error);
  EXPECT_EQ(open_files(), before);
}

using Handler = void (*)(int);

Handler handler_of_interrupts() {
  struct sigaction action = {};
  sigaction(SIGINT, nullptr, &action);
  return action.sa_handler;
}

// The first to begin is the first to end: the other one began while Ctrl-C was ignored.
TEST(RunProcess, ThreadsRestoreTheHandlerOfCtrlC) {
  const Handler before = handler_of_interrupts();
  ASSERT_NE(before, SIG_IGN);
  std::thread first([] { run_process({"sleep", "0.5"}); });
  while (handler_of_interrupts() != SIG_IGN) std::this_thread::yield();
  run_process({"sleep", "1"});
  first.join();
  EXPECT_EQ(handler_of_interrupts(), before);
}

// The process of a user of run_process(), which gets a signal.
class RunProcessInAnother : public ::testing::Test {
 protected:
  // Starts a program that sleeps, from a process with a temporary folder. Sends that process `signal`, and
  // returns its status.
  int status_after(int signal) {
    EXPECT_EQ(pipe(open_while_sleep_runs_), 0);
    const pid_t user = fork();
    if (user == 0) {
      setenv("TMPDIR", folder_.path().c_str(), 1);
      const TemporaryFolder folder("rondo-process");
      run_process({"sh", "-c", "echo > " + started_ + "; exec sleep 60"});
      _exit(0);
    }
    close(open_while_sleep_runs_[1]);
    while (!std::filesystem::exists(started_)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    kill(user, signal);
    int status = 0;
    waitpid(user, &status, 0);
    return status;
  }
  bool has_sleep_ended() {
    pollfd end = {open_while_sleep_runs_[0], POLLIN, 0};
    return poll(&end, 1, 10'000) == 1;
  }
  const test::TemporaryDirectory folder_;  // a TemporaryFolder would defer the signal to its end
  const std::string started_ = folder_ / "started";
  int open_while_sleep_runs_[2] = {-1, -1};
};

TEST_F(RunProcessInAnother, ASignalEndsBothAndRemovesTheFolder) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    const auto begin = std::chrono::steady_clock::now();
    const int status = status_after(signal);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));  // sleep takes 60
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_TRUE(has_sleep_ended());
    std::filesystem::remove(started_);
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  }
}

TEST_F(RunProcessInAnother, EndsWithAKilledProcess) {
  const int status = status_after(SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_TRUE(has_sleep_ended());
}

TEST(RunProcess, ProcessorTimeHasALimit) {
  const TemporaryFolder folder("rondo-process");
  const std::string output = folder.path() / "output";
  run_process({"sh", "-c", "ulimit -t"}, {.standard_output = output, .seconds = 3});
  EXPECT_EQ(RegularFile(output).contents<std::string>(100), concat(3 * sysconf(_SC_NPROCESSORS_CONF), "\n"));
}

TEST(RunProcess, SaysWhatCannotBeStarted) {
  EXPECT_EQ(test::error_of([] { run_process({"/no/such/program"}); }),
            "'/no/such/program' can't be started: No such file or directory");
  EXPECT_EQ(test::error_of([] { run_process({"true"}, {.folder = "/no/such/folder"}); }),
            "'true' can't be started: No such file or directory");
}

}  // namespace
}  // namespace rondo::program
