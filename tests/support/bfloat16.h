// Values of bfloat16 for tests of operators on 16-bit tensors.
#pragma once

#include <rondo/tests/support/inputs.h>

#include <cuda_bf16.h>

#include <cstdint>
#include <vector>

namespace rondo::test {

inline std::vector<__nv_bfloat16> rounded(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}
inline std::vector<float> as_floats(const std::vector<__nv_bfloat16>& values) {
  return {values.begin(), values.end()};
}

// Values that bfloat16 represents.
inline std::vector<float> representable(int64_t size, uint64_t seed) {
  return as_floats(rounded(normal_values(size, seed)));
}

}  // namespace rondo::test
