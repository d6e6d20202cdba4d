#include <gtest/gtest.h>

#include <rondo/nn/io/regular_file.h>
#include <rondo/tools/rondo/support/run_process.h>
#include <rondo/tools/rondo/support/temporary_folder.h>

#include <csignal>
#include <cstdlib>
#include <thread>

namespace rondo::program {
namespace {

TEST(RunProcess, LeavesVariablesOut) {
  const TemporaryFolder folder("rondo-test");
  const std::string output = folder.path() / "output";
  setenv("RONDO_TEST_A", "1", 1);
  setenv("RONDO_TEST_B", "2", 1);
  run_process(
      {"sh", "-c", "echo $RONDO_TEST_A,$RONDO_TEST_B,$RONDO_TEST_C"},
      {.environment = {{"RONDO_TEST_B", "3"}}, .left_out = {"RONDO_TEST_"}, .standard_output = output});
  EXPECT_EQ(RegularFile(output).contents<std::string>(100), ",3,\n");
}

TEST(RunProcess, FilesHaveALimit) {
  const TemporaryFolder folder("rondo-test");
  const std::string output = folder.path() / "output";
  const ProcessEnd end = run_process({"sh", "-c", "sleep 0.2; exec head -c 20000 /dev/zero"},
                                     {.standard_output = output, .file_bytes = 5000});
  EXPECT_EQ(end.signal, SIGXFSZ);
  EXPECT_EQ(std::filesystem::file_size(output), 5000u);
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

}  // namespace
}  // namespace rondo::program
