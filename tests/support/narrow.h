// Values of 16-bit types for tests of operators on 16-bit tensors.
#pragma once

#include <rondo/tests/support/inputs.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace rondo::test {

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

// The largest error of one rounding to T, of 8 or 11 significant bits, in the range of T. Values below the
// smallest normal one are multiples of the smallest positive one.
template <class T>
double rounding_error(double exact) {
  constexpr bool kHalf = std::is_same_v<T, __half>;
  return std::max(std::abs(exact) * (kHalf ? 0x1p-11 : 0x1p-8), kHalf ? 0x1p-25 : 0x1p-134);
}

}  // namespace rondo::test
