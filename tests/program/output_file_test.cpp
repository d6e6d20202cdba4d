#include <gtest/gtest.h>
#include <rondo/tests/program/files.h>
#include <rondo/tools/rondo/deferred_signals.h>
#include <rondo/tools/rondo/output_file.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace rondo::program {
namespace {

using test::complaint;

class Output : public ::testing::Test {
 protected:
  test::TemporaryDirectory directory_;
};

TEST_F(Output, NotAskedFor) {
  EXPECT_FALSE(OutputFile().wanted());
  EXPECT_FALSE(OutputFile("--log", "").wanted());
}

TEST_F(Output, CheckingLeavesNothing) {
  const OutputFile file("--log", directory_ / "a.csv");
  EXPECT_TRUE(file.wanted());
  EXPECT_EQ(directory_.files(), 0u);
}

TEST_F(Output, WritesAndReplaces) {
  const OutputFile file("--log", directory_ / "a.csv");
  file.write("long contents");
  file.write("short");
  EXPECT_EQ(test::read_text(directory_ / "a.csv"), "short");
  EXPECT_EQ(directory_.files(), 1u) << "a temporary is left";
}

TEST_F(Output, CheckingKeepsWhatIsThere) {
  test::write_file(directory_ / "a.csv", test::bytes_of("old"));
  const OutputFile file("--log", directory_ / "a.csv");
  EXPECT_EQ(test::read_text(directory_ / "a.csv"), "old");
}

TEST_F(Output, LinksAreFollowed) {
  test::write_file(directory_ / "real", test::bytes_of("old"));
  std::filesystem::create_symlink("real", directory_ / "link");
  const OutputFile file("--log", directory_ / "link");
  EXPECT_EQ(file.target(), OutputFile("--log", directory_ / "real").target());
  file.write("new");
  EXPECT_EQ(test::read_text(directory_ / "real"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "link"));
}

// Why, and that nothing else is left, is DurableFile's.
TEST_F(Output, WhatCannotBeWritten) {
  const std::string absent = directory_ / "absent/a.csv";
  EXPECT_EQ(complaint([&] { OutputFile("--log", absent); }),
            "--log " + absent + ": there is no folder " + (directory_ / "absent") + " to write it to");
  EXPECT_EQ(directory_.files(), 0u);
}

// Ctrl-C while a file is being written, sent as soon as the temporary is there: first the file is finished.
TEST_F(Output, AnInterruptLeavesNoTemporary) {
  const auto write_until_interrupted = [&] {
    std::thread user([&] {
      while (directory_.files() == 0) {
      }
      kill(getpid(), SIGINT);
    });
    const OutputFile file("--log", directory_ / "a.csv");
    for (int i = 0; i < 100; ++i) file.write(std::string(10'000'000, 'x'));
    std::_Exit(0);  // nothing came
  };
  EXPECT_EXIT(write_until_interrupted(), testing::KilledBySignal(SIGINT), "");
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path()))
    EXPECT_EQ(entry.path().filename(), "a.csv");
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

// Of two signals the ignored one must not make the other forgotten.
TEST(DeferredSignals, EachDoesWhatItWouldHaveDone) {
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
