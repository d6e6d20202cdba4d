// Folders that a program leaves behind when it is killed.
#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tools/rondo/support/temporary_folder.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace rondo::program {
namespace {

namespace fs = std::filesystem;

class AbandonedFolders : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(setenv("TMPDIR", parent_.path().c_str(), 1), 0); }
  void TearDown() override { unsetenv("TMPDIR"); }

  // A folder with a file, last written so long ago.
  fs::path folder(const std::string& name, std::chrono::seconds ago) {
    const fs::path path = fs::path(parent_.path()) / name;
    fs::create_directory(path);
    std::ofstream(path / "file") << "text";
    fs::last_write_time(path, fs::file_time_type::clock::now() - ago);
    return path;
  }

  static constexpr std::chrono::seconds kLongAgo = std::chrono::hours(1);
  const test::TemporaryDirectory parent_;
};

TEST_F(AbandonedFolders, AreRemovedByTheNextOfTheName) {
  const fs::path abandoned = folder("rondo-test-abcdef", kLongAgo);
  const fs::path young = folder("rondo-test-ghijkl", std::chrono::seconds(5));
  const fs::path others[] = {folder("rondo-tests-abcdef", kLongAgo), folder("rondo-test-abc", kLongAgo),
                             folder("rondo-test", kLongAgo), folder("other-test-abcdef", kLongAgo)};
  const fs::path link = fs::path(parent_.path()) / "rondo-test-mnopqr";
  fs::create_directory_symlink(others[0], link);
  const TemporaryFolder next("rondo-test");
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(young / "file"));
  for (const fs::path& other : others) EXPECT_TRUE(fs::exists(other / "file")) << other;
  EXPECT_TRUE(fs::is_symlink(link));
}

TEST_F(AbandonedFolders, ThoseInUseStay) {
  const TemporaryFolder used("rondo-test");
  fs::last_write_time(used.path(), fs::file_time_type::clock::now() - kLongAgo);
  const TemporaryFolder next("rondo-test");
  EXPECT_TRUE(fs::exists(used.path()));
}

// The lock of a process ends with it, although a program that it has started goes on.
TEST_F(AbandonedFolders, TheLockEndsWithTheProcess) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const TemporaryFolder mine("rondo-test");
    fs::last_write_time(mine.path(), fs::file_time_type::clock::now() - kLongAgo);
    const pid_t started = fork();
    if (started == 0) {
      execlp("sleep", "sleep", "30", nullptr);
      _exit(1);
    }
    if (write(ready[1], &started, sizeof started) == sizeof started) pause();
    _exit(1);
  }
  pid_t started = 0;
  ASSERT_EQ(read(ready[0], &started, sizeof started), static_cast<ssize_t>(sizeof started));
  const auto count = [&] {
    return std::distance(fs::directory_iterator(parent_.path()), fs::directory_iterator());
  };
  { const TemporaryFolder next("rondo-test"); }
  EXPECT_EQ(count(), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  // Until sleep has begun, it has the descriptor.
  for (int tries = 0; count() != 0 && tries < 100; ++tries) {
    { const TemporaryFolder next("rondo-test"); }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(count(), 0);
  kill(started, SIGKILL);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace rondo::program
