// Values of bfloat16 and float16 for tests of operators on 16-bit tensors.
#pragma once

#include <rondo/tests/support/inputs.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <vector>

namespace rondo::test {

// T: __nv_bfloat16 or __half.
template <class T = __nv_bfloat16>
std::vector<T> rounded(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}
template <class T>
std::vector<float> as_floats(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

// Values that T represents.
template <class T = __nv_bfloat16>
std::vector<float> representable(int64_t size, uint64_t seed) {
  return as_floats(rounded<T>(normal_values(size, seed)));
}

}  // namespace rondo::test
