// Where a tensor copy puts the bytes of a box, written from the documentation of the swizzles.
#pragma once

#include <rondo/kernels/core/tensor_map.h>

#include <cstddef>

namespace simt_test {

// CUDA C++ Programming Guide, "Tensor memory access": the 16-byte groups of a span of 32, 64 or 128 bytes are
// exchanged by the row, where a row is 128 bytes.
inline size_t swizzled_offset(size_t offset, rondo::Swizzle swizzle) {
  using rondo::Swizzle;
  const auto bit = [&](int b) { return offset >> b & 1; };
  size_t result = offset;
  if (swizzle != Swizzle::none) result ^= bit(7) << 4;
  if (swizzle == Swizzle::bytes64 || swizzle == Swizzle::bytes128) result ^= bit(8) << 5;
  if (swizzle == Swizzle::bytes128) result ^= bit(9) << 6;
  return result;
}

}  // namespace simt_test
