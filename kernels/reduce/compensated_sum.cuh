// Compensated sums of floats: `rest` is the sum of the rounding errors of `sum`, so that sum + rest has
// nearly twice the bits of a float.
//
// For sums that need more than a float, but few terms at a time: many GPUs have one unit for doubles beside
// 64 for floats, so that a kernel that adds each value in double is bound by these units. None of the
// functions has a product outside of fmaf(), so that compilers cannot contract them: they have the same bits
// on every device.
#pragma once

#include <cuda_runtime.h>

namespace rondo {

// The rounding error of `sum` = a + b (Knuth, The Art of Computer Programming, section 4.2.2).
__device__ __forceinline__ float rounding_of(float sum, float a, float b) {
  const float of_b = sum - a;
  return (a - (sum - of_b)) + (b - of_b);
}

// T: float, or the 16-bit type of the value in memory. For 16 bits Kahan's form (1965) is enough, with half
// of the additions. Its error term is inexact only if the value is larger than the sum and has bits that the
// sum lacks. That needs values that differ by 2^8 or more: else a float has room for the bits of both.
template <class T>
__device__ __forceinline__ void add_compensated(float& sum, float& rest, float value) {
  const float next = sum + value;
  rest += sizeof(T) == sizeof(float) ? rounding_of(next, sum, value) : value - (next - sum);
  sum = next;
}

// Adds a * b. T as above. For 16 bits the product is not rounded. The error term is inexact for each product
// that is larger than the sum before it, as in Kahan's sum. In a sum of squares these are few.
template <class T>
__device__ __forceinline__ void add_compensated_product(float& sum, float& rest, float a, float b) {
  if constexpr (sizeof(T) == sizeof(float)) {
    const float product = fmaf(a, b, 0.0f);
    const float next = sum + product;
    rest += rounding_of(next, sum, product) + fmaf(a, b, -product);
    sum = next;
  } else {
    const float next = fmaf(a, b, sum);
    rest += fmaf(a, b, -(next - sum));
    sum = next;
  }
}

__device__ __forceinline__ double compensated_value(float sum, float rest) {
  return static_cast<double>(sum) + static_cast<double>(rest);
}

}  // namespace rondo
