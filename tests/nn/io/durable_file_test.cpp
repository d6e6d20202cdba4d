// A file is replaced completely or not at all.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rondo/nn/io/durable_file.h>
#include <rondo/tests/rondo/support/files.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace rondo {
namespace {

using test::error_of;
using test::read_text;

class DurableFile : public testing::Test {
 protected:
  static void replace(const std::string& path, const std::string& contents) {
    const std::span<const std::byte> all = std::as_bytes(std::span(contents));
    const std::span<const std::byte> pieces[] = {all.first(all.size() / 3), {}, all.subspan(all.size() / 3)};
    replace_file(path, pieces);
  }
  std::string refusal(const std::string& path) {
    return error_of([&] { replace(path, "new"); });
  }

  static std::string quoted(const std::string& path) { return "'" + path + "'"; }

  test::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a";
  const std::string temporary_ = directory_ / ".a.rondo-tmp";
};

TEST_F(DurableFile, IsWrittenAndReplaced) {
  replace(path_, "long contents");
  EXPECT_EQ(read_text(path_), "long contents");
  replace(path_, "short");
  EXPECT_EQ(read_text(path_), "short");
  EXPECT_EQ(directory_.files(), 1u) << "a temporary is left";
}

TEST_F(DurableFile, PermissionsAreTheUsual) {
  const auto permissions = [&] {
    struct stat status {};
    EXPECT_EQ(stat(path_.c_str(), &status), 0);
    return status.st_mode & 0777;
  };
  const mode_t umask_before = umask(022);
  replace(path_, "old");
  EXPECT_EQ(permissions(), 0644u);
  ASSERT_EQ(chmod(path_.c_str(), 0660), 0);
  replace(path_, "new");
  EXPECT_EQ(permissions(), 0660u) << "an existing file keeps its permissions";
  umask(umask_before);
}

TEST_F(DurableFile, LinksAreFollowed) {
  namespace fs = std::filesystem;
  fs::create_directory(directory_ / "folder");
  fs::create_symlink("folder/second", directory_ / "first");
  fs::create_symlink("../a", directory_ / "folder/second");
  for (const char* contents : {"the links lead to no file yet", "now they do"}) {
    EXPECT_EQ(target_of(directory_ / "first"), target_of(path_));
    replace(directory_ / "first", contents);
    EXPECT_EQ(read_text(path_), contents);
    EXPECT_TRUE(fs::is_symlink(directory_ / "first"));
    EXPECT_TRUE(fs::is_symlink(directory_ / "folder/second"));
  }
}

TEST_F(DurableFile, LinksThatLeadNowhereAreRefused) {
  const std::string a = directory_ / "link", b = directory_ / "back", c = directory_ / "away";
  std::filesystem::create_symlink("back", a);
  std::filesystem::create_symlink(a, b);
  std::filesystem::create_symlink("absent/a", c);
  EXPECT_EQ(refusal(a), quoted(a) + " is a symbolic link that leads in a circle");
  EXPECT_EQ(refusal(a + "/a"), quoted(a + "/a") + " can't be written (Too many levels of symbolic links)");
  EXPECT_EQ(refusal(c),
            quoted(c) + " is in the folder " + quoted(directory_ / "absent") + ", which does not exist");
  EXPECT_EQ(directory_.files(), 3u);
}

TEST_F(DurableFile, RefusesWhatCanNotBeAFile) {
  EXPECT_EQ(refusal(directory_.path()), quoted(directory_.path()) + " is a folder, must be a file");
  EXPECT_EQ(refusal(directory_ / ""), quoted(directory_ / "") + " is a folder, must be a file");
  EXPECT_EQ(refusal(""), "'' is a folder, must be a file");
  EXPECT_EQ(refusal(directory_ / "none/a"), quoted(directory_ / "none/a") + " is in the folder " +
                                                quoted(directory_ / "none") + ", which does not exist");
  replace(directory_ / "file", "text");
  for (const std::string below : {"file/a", "file/none/a"})
    EXPECT_EQ(refusal(directory_ / below), quoted(directory_ / below) + " is below " +
                                               quoted(directory_ / "file") +
                                               ", which is a file, must be a folder");
  std::filesystem::remove(directory_ / "file");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(refusal(path_), quoted(path_) + " is a pipe, must be a regular file");
  const std::string longest = directory_ / std::string(250, 'n');
  EXPECT_EQ(refusal("/dev/null"), "'/dev/null' is a character device, must be a regular file");
  EXPECT_EQ(refusal(longest), quoted(longest) + " can't be written (File name too long)");
  EXPECT_EQ(directory_.files(), 1u);
}

TEST_F(DurableFile, WriteProtected) {
  if (geteuid() == 0) GTEST_SKIP() << "the superuser may write everywhere";
  replace(path_, "old");
  chmod(path_.c_str(), 0444);
  EXPECT_EQ(refusal(path_), quoted(path_) + " exists and can't be replaced (Permission denied)");
  chmod(directory_.path().c_str(), 0555);
  EXPECT_EQ(refusal(directory_ / "b"), quoted(directory_ / "b") + " can't be written (Permission denied)");
  chmod(directory_.path().c_str(), 0755);
}

// A file size limit simulates a full disk: write() fails after a part.
TEST_F(DurableFile, AFullDiskLeavesTheOldFile) {
  replace(path_, "old");
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {1000, before.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  try {
    replace(path_, std::string(2000, 'n'));
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::out_of_resources);
    message = error.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(message, path_ + ": writing failed, the file is unchanged (File too large)");
  EXPECT_EQ(read_text(path_), "old");
  EXPECT_EQ(directory_.files(), 1u) << "a temporary is left";
}

TEST_F(DurableFile, WhatAKilledProcessLeftIsWrittenOver) {
  test::write_file(temporary_, test::bytes_of("a part that is longer than what follows"));
  replace(path_, "new");
  EXPECT_EQ(read_text(path_), "new");
  EXPECT_EQ(directory_.files(), 1u);
}

TEST_F(DurableFile, AnotherWriterIsNotDisturbed) {
  replace(path_, "old");
  const int other = open(temporary_.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  ASSERT_EQ(write(other, "mine", 4), 4);
  EXPECT_EQ(refusal(path_), quoted(path_) + " is being written by another process");
  EXPECT_EQ(read_text(temporary_), "mine");
  EXPECT_EQ(read_text(path_), "old");
  close(other);
  replace(path_, "new");
  EXPECT_EQ(read_text(path_), "new");
}

TEST_F(DurableFile, ALockKeepsOthersAway) {
  const std::string lock_file = directory_ / ".a.rondo-lock";
  {
    const FileLock lock(path_);
    EXPECT_EQ(lock.lock_file(), std::filesystem::weakly_canonical(lock_file));
    EXPECT_EQ(read_text(lock_file), std::to_string(getpid()));
    const std::string taken = concat(" is in use as the output of another run (process ", getpid(), ")");
    EXPECT_EQ(error_of([&] { FileLock other(path_); }), quoted(path_) + taken);
    std::filesystem::create_symlink("a", directory_ / "link");
    EXPECT_EQ(error_of([&] { FileLock other(directory_ / "link"); }), quoted(directory_ / "link") + taken);
    replace(path_, "new");
    EXPECT_EQ(read_text(path_), "new");
    EXPECT_EQ(error_of([&] { FileLock other(path_); }), quoted(path_) + taken)
        << "after the file was replaced";
    const FileLock of_another_file(directory_ / "b");
  }
  EXPECT_FALSE(std::filesystem::exists(lock_file));
  const FileLock again(path_);
  test::write_file(lock_file, test::bytes_of("no number"));
  EXPECT_EQ(error_of([&] { FileLock other(path_); }),
            quoted(path_) + " is in use as the output of another run");
}

TEST_F(DurableFile, ALockLeavesNothingWhereTheFileCanNotBeWritten) {
  const int other = open(temporary_.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  EXPECT_EQ(error_of([&] { FileLock lock(path_); }), quoted(path_) + " is being written by another process");
  close(other);
  EXPECT_EQ(error_of([&] { FileLock lock(directory_.path()); }),
            quoted(directory_.path()) + " is a folder, must be a file");
  EXPECT_EQ(directory_.files(), 1u);
  const FileLock lock(path_);
}

TEST_F(DurableFile, TheLockOfAKilledProcessIsTakenOver) {
  const std::string lock_file = directory_ / ".a.rondo-lock";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FileLock lock(path_);
    static_cast<void>(write(ends[1], "x", 1) == 1);
    for (;;) pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1);
  EXPECT_EQ(error_of([&] { FileLock lock(path_); }),
            quoted(path_) + concat(" is in use as the output of another run (process ", child, ")"));
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(std::filesystem::exists(lock_file));
  {
    const FileLock lock(path_);
    EXPECT_EQ(read_text(lock_file), std::to_string(getpid()));
  }
  EXPECT_EQ(directory_.files(), 0u);
  for (const int end : ends) close(end);
}

// Of many threads that want the lock at once, one has it, while others arrive and leave.
TEST_F(DurableFile, OneHasTheLock) {
  std::atomic<int> holders = 0, locked = 0;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> runs;
  for (int run = 0; run < 4; ++run)
    runs.emplace_back([&] {
      while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(1)) try {
          const FileLock lock(path_);
          EXPECT_EQ(++holders, 1);
          ++locked;
          std::this_thread::sleep_for(std::chrono::microseconds(200));
          --holders;
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("another run"), std::string::npos) << error.what();
        }
    });
  for (std::thread& run : runs) run.join();
  EXPECT_GT(locked, 0);
  EXPECT_EQ(directory_.files(), 0u);
}

// A link under the temporary's name must not redirect the write.
TEST_F(DurableFile, ALinkInTheTemporarysPlaceIsNotFollowed) {
  test::write_file(directory_ / "precious", test::bytes_of("precious"));
  std::filesystem::create_symlink("precious", temporary_);
  EXPECT_EQ(refusal(path_), quoted(path_) + " can't be written (Too many levels of symbolic links)");
  EXPECT_EQ(read_text(directory_ / "precious"), "precious");
}

// Many writers and a reader: the reader always gets one of the texts, complete.
TEST_F(DurableFile, ReadersSeeOneOrTheOther) {
  const auto contents = [](int writer) {
    return std::string(20'000 + static_cast<size_t>(writer), static_cast<char>('a' + writer));
  };
  replace(path_, contents(0));
  std::atomic<int> written = 0;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 3; ++writer)
    writers.emplace_back([&, writer] {
      for (int round = 0; round < 100; ++round) try {
          replace(path_, contents(writer));
          ++written;
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("another process"), std::string::npos) << error.what();
        }
    });
  for (int round = 0; round < 500; ++round) {
    const std::string seen = read_text(path_);
    ASSERT_FALSE(seen.empty());
    ASSERT_EQ(seen, contents(seen[0] - 'a'));
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_GT(written, 0);
  EXPECT_EQ(directory_.files(), 1u);
}

}  // namespace
}  // namespace rondo
