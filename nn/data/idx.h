// IDX, the file format of MNIST and similar data sets:
//   byte 0, 1   zero
//   byte 2      type of the values (0x08: unsigned byte, the only one in these data sets)
//   byte 3      number of dimensions
//   then        one big-endian 32-bit size per dimension, then the values, last dimension fastest
// Source: the format's description with the original MNIST files (Y. LeCun, C. Cortes, C. Burges).
#pragma once

#include <rondo/nn/data/gzip.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

struct IdxArray {
  std::vector<int64_t> shape;
  std::vector<uint8_t> values;
  std::string sha256;  // of the whole decompressed file
};

// An IDX file of unsigned bytes, gzipped or not, of at most kMostDataBytes (gzip.h). The constructor reads
// only the header, so that the shapes of several files can be compared before any values are unpacked. It and
// read() throw a bad_argument Error that names the file, the value found and the valid values.
class IdxFile {
 public:
  explicit IdxFile(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<int64_t>& shape() const { return shape_; }

  // Unpacks no more values than the header promises. Call it at most once.
  IdxArray read();

 private:
  const std::string path_;
  DataFile file_;
  std::vector<uint8_t> content_;  // the beginning of the file
  std::vector<int64_t> shape_;
};

// The whole file.
inline IdxArray read_idx(const std::string& path) { return IdxFile(path).read(); }

}  // namespace rondo
