// The errors of sums of products, as they follow from the arithmetic.
#pragma once

#include <rondo/kernels/core/math_mode.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace rondo::test {

// The largest error of a sum of k products, relative to the sum of their magnitudes. `tensor`: by tensor
// cores.
//
// Fused multiply-adds round each sum to nearest: 2^-24, k times. A tensor core aligns 8 products and the old
// sum to the largest of them, truncates each to 24 bits, adds them, and truncates the result
// (simt/tensor_core.h): at most 10 times 2^-23 for each 8 steps of k. The factors are those of the type: with
// tf32, rounded ones.
//
// tf32x3, to the first order, in units of 2^-24:
//   20       The last of the three products of a step: 10 truncations of 2^-23.
//   0.04     The two products with a small part: as many, of terms that are 2^-11 as large; and the large
//            parts, which are at most 1 + 2^-11 times the factors.
//   8        The parts of a factor. The large part has 11 bits, so the rest is a multiple of the last of 24
//            bits and has at most 12: as a value of 11 bits it has an error of at most 2^-23 of the factor,
//            and there are two factors. The product of the small parts, which is left out: 2^-11 * 2^-11.
//   k/8 - 1  The additions of the steps after the first, which round to nearest.
// Alpha, beta and the bias are three more roundings.
inline double largest_sum_error(Math math, bool tensor, int64_t k) {
  const auto steps = static_cast<double>((k + 7) / 8);
  if (!tensor) return static_cast<double>(k + 3) * 0x1p-24;
  if (math == Math::tf32x3) return 10 * (1 + 0x1p-9) * 0x1p-23 + 2 * 0x1p-22 + (steps + 2) * 0x1p-24;
  return (10 * steps + 3) * 0x1p-23;
}

// The errors of results, relative to the sums of the magnitudes of their products.
struct RelativeErrors {
  double root_mean_square = 0, largest = 0;
};
inline RelativeErrors relative_errors(const std::vector<float>& got, const std::vector<double>& exact,
                                      const std::vector<double>& magnitude) {
  RelativeErrors errors;
  for (size_t i = 0; i < got.size(); ++i) {
    double error = std::abs(static_cast<double>(got[i]) - exact[i]);
    if (error == 0) continue;
    // Where nothing is added any error is infinite, and so is a NaN everywhere: std::max() would drop it.
    error = magnitude[i] > 0 ? error / magnitude[i] : std::numeric_limits<double>::infinity();
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    errors.root_mean_square += error * error;
    errors.largest = std::max(errors.largest, error);
  }
  errors.root_mean_square = std::sqrt(errors.root_mean_square / static_cast<double>(got.size()));
  return errors;
}

}  // namespace rondo::test
