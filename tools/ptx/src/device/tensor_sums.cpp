#include "tensor_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ptx {
namespace {

constexpr int kMostColumns = 256;

// TensorSums::aligned: the terms of 8 products and the sum before them are cut to multiples of the unit,
// which is 2^-23 of the power of two in the largest of them. Their sum in units is an integer below 9 * 2^24.
constexpr int kAlignedTerms = 8, kAlignedBits = 24;

// Toward zero; from 2^128 on infinite.
float toward_zero(double exact) {
  if (std::fabs(exact) >= 0x1p128)
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(exact));
  const float nearest = static_cast<float>(exact);
  return std::fabs(double{nearest}) > std::fabs(exact) ? std::nextafter(nearest, 0.0f) : nearest;
}

// One column, for values of any kind: infinities, NaN, only zeros.
double aligned_column(double sum, const double (*products)[kMostColumns], int terms, int column) {
  for (int q = 0; q < terms; ++q) sum += products[q][column];
  return static_cast<float>(sum);
}

void add_aligned(const float* a, const float* b, int b_stride, int terms, int columns, double* d) {
  constexpr uint64_t kExponent = uint64_t{0x7FF} << 52;
  double products[kAlignedTerms][kMostColumns], largest[kMostColumns];
  for (int j = 0; j < columns; ++j) largest[j] = std::fabs(d[j]);
  for (int q = 0; q < terms; ++q) {
    const double factor = a[q];
    for (int j = 0; j < columns; ++j) {
      const double product = factor * double{b[q * b_stride + j]};
      products[q][j] = product;
      const double size = std::fabs(product);
      largest[j] = size > largest[j] || size != size ? size : largest[j];
    }
  }
  for (int j = 0; j < columns; ++j) {
    const uint64_t exponent = std::bit_cast<uint64_t>(largest[j]) & kExponent;
    if (exponent == 0 || exponent == kExponent || largest[j] != largest[j]) {
      d[j] = aligned_column(d[j], products, terms, j);
      continue;
    }
    // Both are powers of two within the range of double: products of floats are between 2^-298 and 2^256.
    const double unit = std::bit_cast<double>(exponent - (uint64_t{kAlignedBits - 1} << 52));
    const double units_of_one = 1 / unit;
    int32_t units = static_cast<int32_t>(d[j] * units_of_one);
    for (int q = 0; q < terms; ++q) units += static_cast<int32_t>(products[q][j] * units_of_one);
    d[j] = toward_zero(units * unit);
  }
}

}  // namespace

void add_aligned_products(const float* a, const float* b, int b_stride, int k, int columns, double* d) {
  for (int first = 0; first < k; first += kAlignedTerms)
    add_aligned(a + first, b + first * b_stride, b_stride, std::min(kAlignedTerms, k - first), columns, d);
}

}  // namespace ptx
