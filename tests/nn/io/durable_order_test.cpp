// The order of the calls that make a file durable. A power failure cannot be simulated, so the test watches
// the calls: the linker redirects them (--wrap, CMakeLists.txt).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rondo/nn/io/durable_file.h>
#include <rondo/tests/rondo/support/files.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

namespace {

// One call. Files are named by their inodes, because a name can be of another file afterwards.
struct Call {
  enum Kind { write, truncate, synchronise, rename } kind;
  ino_t inode;
  off_t size;  // of the file at the call
  bool operator==(const Call&) const = default;
};

std::optional<std::vector<Call>> calls;  // no value: nobody watches

void note(Call::Kind kind, const struct stat& status) {
  if (calls) calls->push_back({kind, status.st_ino, status.st_size});
}
void note(Call::Kind kind, int file) {
  struct stat status {};
  if (calls && fstat(file, &status) == 0) note(kind, status);
}

}  // namespace

extern "C" {
int __real_fsync(int file);
int __real_rename(const char* from, const char* to);
int __real_ftruncate(int file, off_t size);
ssize_t __real_write(int file, const void* data, size_t bytes);

int __wrap_fsync(int file) {
  note(Call::synchronise, file);
  return __real_fsync(file);
}
int __wrap_rename(const char* from, const char* to) {
  struct stat status {};
  if (calls && stat(from, &status) == 0) note(Call::rename, status);
  return __real_rename(from, to);
}
int __wrap_ftruncate(int file, off_t size) {
  const int result = __real_ftruncate(file, size);
  note(Call::truncate, file);
  return result;
}
ssize_t __wrap_write(int file, const void* data, size_t bytes) {
  const ssize_t result = __real_write(file, data, bytes);
  note(Call::write, file);
  return result;
}
}

namespace rondo {
namespace {

ino_t inode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_ino;
}

// Whether the file exists or not, and through a link: the data is on the disk before the name refers to it,
// and the name is before the call returns.
TEST(DurableOrder, DataThenNameThenFolder) {
  const test::TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "folder");
  std::filesystem::create_symlink("folder/a", directory / "link");
  const std::string contents = "some contents";
  const std::span<const std::byte> all = std::as_bytes(std::span(contents));
  const std::span<const std::byte> pieces[] = {all.first(4), {}, all.subspan(4)};
  for (const bool exists : {false, true}) {
    ASSERT_EQ(std::filesystem::exists(directory / "folder/a"), exists);
    const ino_t folder = inode_of(directory / "folder");
    calls.emplace();
    replace_file(directory / "link", pieces);
    const std::vector<Call> seen = *calls;
    calls.reset();
    const ino_t file = inode_of(directory / "folder/a");
    ASSERT_EQ(seen.size(), 6u);
    EXPECT_EQ(seen[0], (Call{Call::truncate, file, 0}));
    EXPECT_EQ(seen[1], (Call{Call::write, file, 4}));
    EXPECT_EQ(seen[2], (Call{Call::write, file, 13}));
    EXPECT_EQ(seen[3], (Call{Call::synchronise, file, 13}));
    EXPECT_EQ(seen[4], (Call{Call::rename, file, 13}));
    EXPECT_EQ(seen[5].kind, Call::synchronise);
    EXPECT_EQ(seen[5].inode, folder);
  }
}

}  // namespace
}  // namespace rondo
