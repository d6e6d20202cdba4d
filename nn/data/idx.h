// IDX, the file format of MNIST and similar data sets:
//   byte 0, 1   zero
//   byte 2      type of the values (0x08: unsigned byte, the only one in these data sets)
//   byte 3      number of dimensions
//   then        one big-endian 32-bit size per dimension, then the values, last dimension fastest
// Source: the format's description with the original MNIST files (Y. LeCun, C. Cortes, C. Burges).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

struct IdxArray {
  std::vector<int64_t> shape;
  std::vector<uint8_t> values;
  std::string sha256;  // of the whole decompressed file
};

// Reads the IDX file of unsigned bytes at `path`, gzipped or not. Throws a bad_argument Error that names the
// file, the value found and the valid values.
IdxArray read_idx(const std::string& path);

}  // namespace rondo
