// RegularFile: opens regular files only.
#pragma once

#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>

#include <cstdint>
#include <string>

namespace rondo {

// A regular file, open for reading. Directories, pipes, sockets and devices are refused without blocking: a
// pipe without a writer would hang, and /dev/zero has no end. The shell's <(command) is a pipe.
class RegularFile {
 public:
  // Throws a bad_argument Error with the path and the kind of file, or the reason why it cannot be opened.
  explicit RegularFile(const std::string& path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  int64_t size() const { return size_; }  // in bytes, at the time of opening

  // Reads `bytes` bytes from offset `from`. Throws an Error: bad_argument if the file has become shorter,
  // out_of_resources if reading fails.
  void read(void* to, int64_t bytes, int64_t from) const;

  // Returns the whole contents as a std::string or a std::vector<uint8_t>. Throws as read() does, and a
  // bad_argument Error for a file of more than `most_bytes`, before any allocation.
  template <class Bytes>
  Bytes contents(int64_t most_bytes) const {
    if (size_ > most_bytes) fail("has ", counted(size_, "byte"), ", must have at most ", most_bytes);
    Bytes bytes;
    bytes.resize(static_cast<size_t>(size_));
    read(bytes.data(), size_, 0);
    return bytes;
  }

  // Throws a bad_argument Error that begins with the path.
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw Error(bad_argument(path_, ": ", parts...));
  }

 private:
  const std::string path_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

// Size limit for logs, tables of links and similar text files.
inline constexpr int64_t kMostTextBytes = int64_t{64} << 20;

}  // namespace rondo
