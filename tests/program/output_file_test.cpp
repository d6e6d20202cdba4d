#include <gtest/gtest.h>
#include <rondo/tests/program/files.h>
#include <rondo/tools/rondo/deferred_signals.h>
#include <rondo/tools/rondo/output_file.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace rondo::program {
namespace {

using test::complaint;
using test::missing;

class Output : public ::testing::Test {
 protected:
  void expect_refused(const std::string& path, const std::string& why) {
    const size_t before = directory_.files();
    EXPECT_EQ(missing(complaint([&] { OutputFile("--log", path); }), {"--log", "'" + path + "'", why}), "");
    EXPECT_EQ(directory_.files(), before);
  }
  mode_t mode(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
  }

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

TEST_F(Output, PermissionsAreTheUsual) {
  const mode_t umask_before = umask(022);
  OutputFile("--log", directory_ / "new").write("x");
  EXPECT_EQ(mode(directory_ / "new"), 0644u);
  chmod((directory_ / "new").c_str(), 0600);
  OutputFile("--log", directory_ / "new").write("y");
  EXPECT_EQ(mode(directory_ / "new"), 0600u) << "an existing file keeps its permissions";
  umask(umask_before);
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

TEST_F(Output, WhatCannotBeWritten) {
  expect_refused(directory_.path().string(), "is a directory");
  expect_refused(directory_ / "absent/a.csv", "no directory");
  test::write_file(directory_ / "file", {});
  expect_refused(directory_ / "file/a.csv", "");
  expect_refused("/dev/null", "not an ordinary file");
  expect_refused("/proc/a.csv", "can't be written");
  expect_refused(directory_ / std::string(300, 'x'), "");
}

TEST_F(Output, WriteProtected) {
  if (geteuid() == 0) GTEST_SKIP() << "the superuser may write everywhere";
  test::write_file(directory_ / "fixed", {});
  chmod((directory_ / "fixed").c_str(), 0444);
  expect_refused(directory_ / "fixed", "can't be replaced");
  chmod(directory_.path().c_str(), 0555);
  expect_refused(directory_ / "a.csv", "can't be written");
  chmod(directory_.path().c_str(), 0755);
}

// A full disk in the middle of writing: the old contents stay, and nothing else does.
TEST_F(Output, FailureKeepsTheOldContents) {
  const OutputFile file("--log", directory_ / "a.csv");
  file.write("old");
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small = {1000, limit.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(file.write(std::string(5000, 'x')), Error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(test::read_text(directory_ / "a.csv"), "old");
  EXPECT_EQ(directory_.files(), 1u);
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
