// IDX, the file format of MNIST and its relatives: a magic number, the sizes of the dimensions, the values.
//   byte 0, 1   zero
//   byte 2      type of the values (0x08: unsigned byte, the only one that these data sets use)
//   byte 3      number of dimensions
//   then        one big-endian 32-bit size a dimension, then the values, last dimension fastest
// Source: the format's description beside the original MNIST files (Y. LeCun, C. Cortes, C. Burges).
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
// file, what was found in it and what would be valid.
IdxArray read_idx(const std::string& path);

}  // namespace rondo
