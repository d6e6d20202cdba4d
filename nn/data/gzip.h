// DataFile: reads a file, gzipped or not, from its beginning. Detection is by content, not by name.
#pragma once

#include <rondo/nn/io/regular_file.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rondo {

// Upper limit: far above any data set of this format.
inline constexpr int64_t kMostDataBytes = int64_t{1} << 30;

// A gzip file (RFC 1952, several members allowed) is unpacked only as far as it is read: a small file
// can unpack to a thousand times its size.
class DataFile {
 public:
  // Throws a bad_argument Error that names the file if it cannot be read or has more than kMostDataBytes.
  explicit DataFile(const std::string& path);
  ~DataFile();

  // Appends the next `bytes` bytes to `contents`, or fewer at the end of the file. Throws a bad_argument
  // Error that names the file if gzip data is truncated, damaged or followed by other data. The end of gzip
  // data, with its checksum, has been read only after a call that appends fewer.
  void read(std::vector<uint8_t>* contents, int64_t bytes);

  // An upper limit of the contents, from the size of the file: deflate shrinks at most 1032 bytes to one.
  int64_t most_bytes() const;

 private:
  class Inflater;
  size_t read_plain(std::span<uint8_t> to);

  const RegularFile file_;
  int64_t read_ = 0;  // bytes of the file, without gzip
  std::unique_ptr<Inflater> inflater_;
};

}  // namespace rondo
