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

// Element `half` of a register.
template <TensorFormat format>
float tensor_element(uint32_t bits, int half) {
  if constexpr (format == TensorFormat::tf32) return std::bit_cast<float>(bits & 0xFFFFE000u);
  const auto narrow = static_cast<uint16_t>(bits >> 16 * half);
  return format == TensorFormat::bfloat16 ? Bfloat16Format::to_float(narrow) : HalfFormat::to_float(narrow);
}

}  // namespace simt
