// Sizes, and products of sizes that may overflow 64 bits.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

namespace rondo {

// The maximum number of bytes that one operand may span. The largest address space in use has 2^57 bytes.
// Within this limit, sums of a few spans and products with small constants fit in int64_t.
inline constexpr int64_t kMaxBytes = int64_t{1} << 57;

// The product of non-negative sizes, or INT64_MAX if the product is larger.
constexpr int64_t saturating_product(std::span<const int64_t> sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes)
    if (size == 0) return 0;
  for (const int64_t size : sizes) {
    if (product > INT64_MAX / size) return INT64_MAX;
    product *= size;
  }
  return product;
}
constexpr int64_t saturating_product(std::initializer_list<int64_t> sizes) {
  return saturating_product(std::span(sizes.begin(), sizes.size()));
}

}  // namespace rondo
