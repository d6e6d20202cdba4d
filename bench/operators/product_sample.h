// The check of a product of matrices, or of a batch of products.
#pragma once

#include <rondo/kernels/core/math_mode.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace rondo::bench {

// c = op(a) op(b) of each batch: packed, row-major, one matrix after the other.
struct ProductSample {
  int64_t batches = 1, m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
};

// Compares some hundred results, spread over all of them, with sums in double precision. The bound is that of
// truncated fp32 sums, of tf32 factors, and of a result of 16 bits.
template <class T>
bool is_product(const ProductSample& s, Math math, const T* a, const T* b, const T* c) {
  const double of_sums = static_cast<double>(s.k) * (std::is_same_v<T, float> ? 0x1p-24 : 0x1p-23) +
                         (math == Math::tf32 ? 0x1p-10 : 0);
  const double of_result = sizeof(T) == 4 ? 0 : 0x1p-8;
  const auto at = [](const T* values, int64_t index) {
    return static_cast<double>(static_cast<float>(values[index]));
  };
  const int64_t count = s.batches * s.m * s.n;
  for (int64_t e = 0; e < count; e += 1 + count / 251) {
    const int64_t batch = e / (s.m * s.n), i = e / s.n % s.m, j = e % s.n;
    const T *const of_a = a + batch * s.m * s.k, *const of_b = b + batch * s.k * s.n;
    double sum = 0, magnitude = 0;
    for (int64_t l = 0; l < s.k; ++l) {
      const double product = at(of_a, s.transpose_a ? l * s.m + i : i * s.k + l) *
                             at(of_b, s.transpose_b ? j * s.k + l : l * s.n + j);
      sum += product;
      magnitude += std::abs(product);
    }
    if (!(std::abs(at(c, e) - sum) <= of_sums * magnitude + of_result * std::abs(sum))) return false;
  }
  return true;
}

}  // namespace rondo::bench
