// IDX, the file format of MNIST and similar data sets:
//   byte 0, 1   zero
//   byte 2      type of the values (0x08: unsigned byte, the only one in these data sets)
//   byte 3      number of dimensions
//   then        one big-endian 32-bit size per dimension, then the values, last dimension fastest
// Source: the format's description with the original MNIST files (Y. LeCun, C. Cortes, C. Burges).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rondo {

struct IdxArray {
  std::vector<int64_t> shape;
  std::vector<uint8_t> values;
  std::string sha256;  // of the whole decompressed file
};

// Throws for an invalid shape.
using ShapeCheck = std::function<void(const std::vector<int64_t>& shape)>;

// Reads the IDX file of unsigned bytes at `path`, gzipped or not, of at most kMostDataBytes (gzip.h). Throws
// a bad_argument Error that names the file, the value found and the valid values. Unpacks no more than the
// header promises, and calls `check_shape` before that.
IdxArray read_idx(const std::string& path, const ShapeCheck& check_shape = {});

}  // namespace rondo
