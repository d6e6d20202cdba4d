#include <gtest/gtest.h>
#include <rondo/nn/io/durable_file.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tools/rondo/support/deferred_signals.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/support/stop_request.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace rondo::program {
namespace {

using test::error_of;

class Output : public ::testing::Test {
 protected:
  test::TemporaryDirectory directory_;
};

TEST_F(Output, NotRequested) {
  EXPECT_FALSE(OutputFile().wanted());
  EXPECT_FALSE(OutputFile("--log", "").wanted());
}

TEST_F(Output, CheckingLeavesNothing) {
  {
    const OutputFile file("--log", directory_ / "a.csv");
    EXPECT_TRUE(file.wanted());
    EXPECT_FALSE(std::filesystem::exists(directory_ / "a.csv"));
  }
  EXPECT_EQ(directory_.files(), 0u);
}

TEST_F(Output, WritesAndReplaces) {
  {
    const OutputFile file("--log", directory_ / "a.csv");
    file.write("long contents");
    file.write("short");
  }
  EXPECT_EQ(test::read_text(directory_ / "a.csv"), "short");
  EXPECT_EQ(directory_.files(), 1u) << "a temporary or a lock is left";
}

TEST_F(Output, CheckingKeepsAnExistingFile) {
  test::write_file(directory_ / "a.csv", test::bytes_of("old"));
  const OutputFile file("--log", directory_ / "a.csv");
  EXPECT_EQ(test::read_text(directory_ / "a.csv"), "old");
}

TEST_F(Output, LinksAreFollowed) {
  test::write_file(directory_ / "real", test::bytes_of("old"));
  std::filesystem::create_symlink("real", directory_ / "link");
  const std::string real = OutputFile("--log", directory_ / "real").target();
  const OutputFile file("--log", directory_ / "link");
  EXPECT_EQ(file.target(), real);
  file.write("new");
  EXPECT_EQ(test::read_text(directory_ / "real"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "link"));
}

TEST_F(Output, TwoOutputsMustBeDifferentFiles) {
  std::filesystem::create_symlink("a", directory_ / "link");
  const OutputFile log("--log", directory_ / "a");
  EXPECT_EQ(error_of([&] { OutputFile("--plot", directory_ / "link"); }),
            "--plot '" + (directory_ / "link") + "' is the same file as --log's, must be another");
  const OutputFile plot("--plot", directory_ / "b");
  { const OutputFile trace("--trace", directory_ / "c"); }
  const OutputFile again("--trace", directory_ / "c");
}

TEST_F(Output, AnInputIsRefusedUnderAllItsNames) {
  test::write_file(directory_ / "input", test::bytes_of("old"));
  std::filesystem::create_symlink("input", directory_ / "link");
  for (const std::string& name : {directory_ / "link", directory_ / "./input"}) {
    const OutputFile svg("--svg", name);
    EXPECT_EQ(error_of([&] { svg.check_is_not("the solution", directory_ / "input"); }),
              "--svg is '" + name + "', which is the solution, must be another file");
    svg.check_is_not("the solution", directory_ / "other");
    svg.check_is_not("the solution", "");
  }
  OutputFile().check_is_not("the solution", directory_ / "input");
}

TEST_F(Output, AnotherRunsFileIsRefused) {
  const FileLock other(directory_ / "a.csv");
  EXPECT_EQ(error_of([&] { OutputFile("--log", directory_ / "a.csv"); }),
            concat("--log '", directory_ / "a.csv", "' is in use as the output of another run (process ",
                   getpid(), ")"));
}

// The path was valid when the work began. If it becomes invalid later, the error is not a bad argument.
TEST_F(Output, AFailureToWriteIsNotABadArgument) {
  std::filesystem::create_directory(directory_ / "folder");
  const OutputFile file("--log", directory_ / "folder/a.csv");
  std::filesystem::remove_all(directory_ / "folder");
  try {
    file.write("text");
    ADD_FAILURE() << "it was written";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::out_of_resources) << error.what();
    EXPECT_EQ(test::missing(error.what(), {"is in the folder '", "/folder', which does not exist"}), "");
  }
}

// DurableFile's tests cover the reasons, and that no other file is left.
TEST_F(Output, AnUnwritablePathIsRefused) {
  const std::string absent = directory_ / "absent/a.csv";
  EXPECT_EQ(
      error_of([&] { OutputFile("--log", absent); }),
      "--log '" + absent + "' is in the folder '" + (directory_ / "absent") + "', which does not exist");
  EXPECT_EQ(directory_.files(), 0u);
}

// Ctrl-C during a write: the write is completed first, and the lock is removed.
TEST_F(Output, AnInterruptLeavesNoTemporary) {
  const auto write_until_interrupted = [&] {
    std::atomic<bool> sent = false;
    std::thread user([&] {
      while (!std::filesystem::exists(directory_ / "a.csv")) {
      }
      kill(getpid(), SIGINT);
      sent = true;
    });
    const OutputFile file("--log", directory_ / "a.csv");
    while (!sent) file.write(std::string(1'000'000, 'x'));
    std::this_thread::sleep_for(std::chrono::seconds(10));
    std::_Exit(0);  // no signal arrived
  };
  EXPECT_EXIT(write_until_interrupted(), testing::KilledBySignal(SIGINT), "");
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
    EXPECT_EQ(entry.path().filename(), "a.csv");
}

TEST_F(Output, ASignalRemovesTheLocks) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    const auto ended = [&] {
      const OutputFile log("--log", directory_ / "a.csv"), plot("--plot", directory_ / "b.svg");
      if (directory_.files() == 2) raise(signal);
      std::exit(0);
    };
    EXPECT_EXIT(ended(), testing::KilledBySignal(signal), "");
    EXPECT_EQ(directory_.files(), 0u);
  }
}

// Also after the first signal requested an orderly end: the second signal does not wait for it.
TEST_F(Output, ASecondSignalRemovesTheLocks) {
  const auto ended = [&] {
    const OutputFile log("--log", directory_ / "a.csv");
    const StopRequest request;
    raise(SIGTERM);
    if (StopRequest::signal() == SIGTERM) raise(SIGINT);
    std::exit(0);
  };
  EXPECT_EXIT(ended(), testing::KilledBySignal(SIGINT), "");
  EXPECT_EQ(directory_.files(), 0u);
}

TEST(StopRequest, RecordsTheFirstSignal) {
  for (const int first : {SIGINT, SIGTERM, SIGHUP}) {
    const auto asked = [&] {
      const StopRequest request;
      if (StopRequest::signal() != 0) std::exit(1);
      raise(first);
      // A terminal that closes may send it twice.
      for (int i = 0; i < 2; ++i) raise(SIGHUP);
      std::exit(StopRequest::signal());
    };
    EXPECT_EXIT(asked(), testing::ExitedWithCode(first), "");
  }
}

TEST(StopRequest, ASecondSignalEndsTheProgram) {
  for (const int second : {SIGINT, SIGTERM}) {
    const auto asked = [&] {
      const StopRequest request;
      raise(SIGHUP);
      raise(second);
      std::exit(0);
    };
    EXPECT_EXIT(asked(), testing::KilledBySignal(second), "");
  }
}

// As with nohup.
TEST(StopRequest, IgnoredSignalsStayIgnored) {
  const auto asked = [&] {
    signal(SIGHUP, SIG_IGN);
    {
      const StopRequest request;
      raise(SIGHUP);
      if (StopRequest::signal() != 0) std::exit(1);
    }
    raise(SIGHUP);
    std::exit(0);
  };
  EXPECT_EXIT(asked(), testing::ExitedWithCode(0), "");
}

TEST(DeferredSignals, WaitForTheEndOfTheScope) {
  const auto interrupted = [] {
    {
      const DeferredSignals scope;
      raise(SIGTERM);
      std::fputs("the rest is done", stderr);
    }
    std::fputs("and no more", stderr);
    std::exit(0);
  };
  EXPECT_EXIT(interrupted(), testing::KilledBySignal(SIGTERM), "^the rest is done$");
}

// Of two deferred signals, an ignored one must not hide the other.
TEST(DeferredSignals, EachHasItsUsualEffect) {
  const auto interrupted = [] {
    signal(SIGHUP, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    const DeferredSignals scope;
    raise(SIGTERM);
    raise(SIGINT);
    raise(SIGHUP);
  };
  EXPECT_EXIT((interrupted(), std::exit(0)), testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace rondo::program
