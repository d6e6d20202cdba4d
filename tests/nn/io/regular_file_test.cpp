// Opening files for reading: anything but a regular file is refused at once, with its kind named.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rondo/nn/data/gzip.h>
#include <rondo/nn/io/regular_file.h>
#include <rondo/nn/io/safetensors.h>
#include <rondo/tests/rondo/support/files.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

namespace rondo {
namespace {

using test::bytes_of;
using test::error_of;

// A test that blocks on a pipe is ended by this alarm, not by the time limit of the suite.
class RegularFileTest : public testing::Test {
 protected:
  RegularFileTest() { alarm(30); }
  ~RegularFileTest() override { alarm(0); }

  test::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "file";
};

TEST_F(RegularFileTest, IsReadWholeAndInParts) {
  test::write_file(path_, bytes_of("0123456789"));
  const RegularFile file(path_);
  EXPECT_EQ(file.size(), 10);
  EXPECT_EQ(file.contents<std::string>(10), "0123456789");
  EXPECT_EQ(file.contents<std::vector<uint8_t>>(10), bytes_of("0123456789"));
  std::string part(3, ' ');
  file.read(part.data(), 3, 4);
  EXPECT_EQ(part, "456");
  EXPECT_EQ(error_of([&] { file.contents<std::string>(9); }), path_ + ": has 10 bytes, must have at most 9");
  EXPECT_EQ(error_of([&] { file.read(part.data(), 3, 8); }), path_ + ": became shorter while it was read");
  test::write_file(directory_ / "empty", {});
  EXPECT_EQ(RegularFile(directory_ / "empty").contents<std::string>(0), "");
}

TEST_F(RegularFileTest, LinksAreFollowed) {
  test::write_file(path_, bytes_of("text"));
  std::filesystem::create_symlink(path_, directory_ / "link");
  EXPECT_EQ(RegularFile(directory_ / "link").contents<std::string>(4), "text");
}

// All readers of files, with all kinds of non-regular files.
TEST_F(RegularFileTest, EveryReaderRefusesEverythingElse) {
  const std::string pipe = directory_ / "pipe", name = directory_ / "socket", link = directory_ / "link";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink(pipe, link);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(name.size(), sizeof address.sun_path);
  std::ranges::copy(name, address.sun_path);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);

  const std::pair<std::string, std::string> kinds[] = {{directory_.path().string(), "is a folder"},
                                                       {pipe, "is a pipe"},
                                                       {link, "is a pipe"},
                                                       {name, "is a socket"},
                                                       {"/dev/null", "is a character device"},
                                                       {"/dev/zero", "is a character device"}};
  for (const auto& [path, kind] : kinds) {
    const std::string refusal = "'" + path + "' " + kind + ", must be a regular file";
    EXPECT_EQ(error_of([&] { RegularFile file(path); }), refusal);
    EXPECT_EQ(error_of([&] { DataFile file(path); }), refusal);
    EXPECT_EQ(error_of([&] { read_safetensors(path); }), refusal);
  }
  close(socket);
  EXPECT_EQ(error_of([&] { RegularFile file(path_); }),
            "'" + path_ + "' can't be opened (No such file or directory)");
}

// A process that waits to write to a pipe keeps waiting, because the pipe is not opened.
TEST_F(RegularFileTest, APipeIsNotOpened) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const pid_t writer = fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) {
    const int file = open(path_.c_str(), O_WRONLY);  // returns when a reader opens the pipe
    _exit(file < 0);
  }
  usleep(200'000);
  for (int i = 0; i < 5; ++i) error_of([&] { RegularFile file(path_); });
  usleep(200'000);
  EXPECT_EQ(waitpid(writer, nullptr, WNOHANG), 0) << "the writer was woken";
  kill(writer, SIGKILL);
  waitpid(writer, nullptr, 0);
}

// Any new code that reads user files must use RegularFile.
TEST(RegularFileSources, NothingElseOpensFilesForReading) {
  const std::regex reader(R"(\bi?fstream\b|\b(fopen|freopen|gzopen|openat|open)\s*\()");
  std::set<std::string> found;
  for (const char* part : {"nn", "tools/rondo"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(SOURCE_DIR) / part)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".h" && extension != ".cu" && extension != ".cuh") continue;
      std::istringstream lines(test::read_text(entry.path()));
      for (std::string line; std::getline(lines, line);) {
        line = line.substr(0, line.find("//"));
        if (std::regex_search(line, reader)) found.insert(entry.path().filename());
      }
    }
  }
  EXPECT_EQ(found, (std::set<std::string>{"durable_file.cpp", "main.cpp", "regular_file.cpp",
                                          "run_process.cpp", "temporary_folder.cpp"}))
      << "the first one writes; the programs' standard streams are opened in main.cpp and run_process.cpp, "
         "and folders in temporary_folder.cpp";
}

}  // namespace
}  // namespace rondo
