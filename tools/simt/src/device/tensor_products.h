// The sums of products of tensor cores, as simt/tensor_core.h describes them.
#pragma once

#include <simt/narrow_float.h>
#include <simt/tensor_core.h>

#include <bit>
#include <cstdint>

namespace simt {

inline constexpr int kProductBlock = 8;  // steps of k that are added at once

// sum + a[0] * b[0] + ... + a[7] * b[7 * b_step]
float add_products(float sum, const float* a, const float* b, int b_step);

// The same for kProductWidth columns: sums[j] += a[0] * b[0][j] + ...
#ifdef __AVX512F__
inline constexpr int kProductWidth = 16;
#else
inline constexpr int kProductWidth = 8;
#endif
void add_product_row(float* sums, const float* a, const float* b);
// The same for `rows` rows of sums, one after the other: row i with a + i * a_step and b + i * b_step.
void add_product_rows(int rows, float* sums, const float* a, int a_step, const float* b, int b_step);

// What is known of a block of an operand. Tiles have zeros where a matrix ends, in small products for the
// most part, and a product with a block of zeros needs no arithmetic.
struct BlockKind {
  bool zero = true, finite = true;
};
inline BlockKind kind_of(const float* values, int count) {
  constexpr uint32_t kMagnitude = 0x7FFFFFFF, kInfinity = 0x7F800000;
  uint32_t largest = 0;
  for (int i = 0; i < count; ++i) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(values[i]) & kMagnitude;
    largest = magnitude > largest ? magnitude : largest;
  }
  return {largest == 0, largest < kInfinity};
}
// Whether all products of the two blocks are zeros. The old sum then stays, and -0 becomes +0.
inline bool products_are_zero(BlockKind a, BlockKind b) {
  return (a.zero && b.finite) || (b.zero && a.finite);
}
inline void add_zeros(float* sums, int count) {
  for (int i = 0; i < count; ++i) sums[i] += 0.0f;
}

// Element `half` of a register.
template <TensorFormat format>
float tensor_element(uint32_t bits, int half) {
  if constexpr (format == TensorFormat::tf32) return std::bit_cast<float>(bits & 0xFFFFE000u);
  const auto narrow = static_cast<uint16_t>(bits >> 16 * half);
  return format == TensorFormat::bfloat16 ? Bfloat16Format::to_float(narrow) : HalfFormat::to_float(narrow);
}

}  // namespace simt
