#include <fcntl.h>
#include <rondo/nn/io/folder.h>
#include <rondo/nn/io/regular_file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace rondo {
namespace {

namespace fs = std::filesystem;

fs::file_type type_of(mode_t mode) {
  return S_ISREG(mode)    ? fs::file_type::regular
         : S_ISDIR(mode)  ? fs::file_type::directory
         : S_ISFIFO(mode) ? fs::file_type::fifo
         : S_ISSOCK(mode) ? fs::file_type::socket
         : S_ISCHR(mode)  ? fs::file_type::character
         : S_ISBLK(mode)  ? fs::file_type::block
                          : fs::file_type::unknown;
}

void check_kind(const std::string& path, mode_t mode) {
  if (!S_ISREG(mode)) refuse_path(path, "is ", kind_of(type_of(mode)), ", must be a regular file");
}

}  // namespace

RegularFile::RegularFile(const std::string& path) : path_(path) {
  struct stat status;
  // Check the type before opening: opening a pipe would unblock a process that waits to write to it, and
  // opening a device can have side effects.
  if (stat(path_.c_str(), &status) != 0) refuse_path(path_, "can't be opened (", std::strerror(errno), ")");
  check_kind(path_, status.st_mode);
  // Check again: the name may refer to another file by now.
  descriptor_ = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor_ < 0) refuse_path(path_, "can't be opened (", std::strerror(errno), ")");
  try {
    if (fstat(descriptor_, &status) != 0)
      refuse_path(path_, "can't be examined (", std::strerror(errno), ")");
    check_kind(path_, status.st_mode);
  } catch (...) {
    close(descriptor_);
    throw;
  }
  size_ = status.st_size;
}

RegularFile::~RegularFile() { close(descriptor_); }

void RegularFile::read(void* to, int64_t bytes, int64_t from) const {
  auto* next = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = pread(descriptor_, next, static_cast<size_t>(bytes), from);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw Error(Status(StatusCode::out_of_resources,
                         concat(path_, ": reading failed (", std::strerror(errno), ")")));
    if (got == 0) fail("became shorter while it was read");
    next += got, from += got, bytes -= got;
  }
}

}  // namespace rondo
