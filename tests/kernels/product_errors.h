// The errors of sums of products, as they follow from the arithmetic.
#pragma once

#include <rondo/kernels/core/math_mode.h>

#include <cstdint>

namespace rondo::test {

// The largest error of a sum of k products, relative to the sum of their magnitudes. `tensor`: by tensor
// cores.
//
// Fused multiply-adds round each sum to nearest: 2^-24, k times. A tensor core aligns 8 products and the old
// sum to the largest of them, truncates each to 24 bits, adds them, and truncates the result
// (simt/tensor_core.h): at most 10 times 2^-23 for each 8 steps of k. The factors are those of the type: with
// tf32, rounded ones. tf32x3 truncates each 8 steps by themselves (the two products with small parts add 2^-10
// of that), adds them by additions that round to nearest, splits each factor with an error of 2^-22, and
// leaves out the product of the small parts, of 2^-22. Alpha, beta and the bias are three more roundings.
inline double largest_sum_error(Math math, bool tensor, int64_t k) {
  const auto steps = static_cast<double>((k + 7) / 8);
  if (!tensor) return static_cast<double>(k + 3) * 0x1p-24;
  if (math == Math::tf32x3) return 10 * (1 + 0x1p-10) * 0x1p-23 + 3 * 0x1p-22 + (steps + 3) * 0x1p-24;
  return (10 * steps + 3) * 0x1p-23;
}

}  // namespace rondo::test
