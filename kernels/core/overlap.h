// The memory that an operand occupies, and a test whether two operands share memory.
#pragma once

#include <cstdint>

namespace rondo {

// `rows` runs of `row_bytes` bytes. `stride_bytes` is the distance between the starts of consecutive runs.
// Packed memory is one row.
struct MemoryExtent {
  const void* data = nullptr;
  int64_t rows = 0;
  int64_t row_bytes = 0;
  int64_t stride_bytes = 0;

  static MemoryExtent packed(const void* data, int64_t bytes) { return {data, 1, bytes, bytes}; }

  bool empty() const { return rows == 0 || row_bytes == 0; }
  uintptr_t begin() const { return reinterpret_cast<uintptr_t>(data); }
  uintptr_t end() const { return begin() + static_cast<uintptr_t>((rows - 1) * stride_bytes + row_bytes); }
  // True if both extents have the same rows at the same address.
  bool operator==(const MemoryExtent& other) const {
    return data == other.data && rows == other.rows && row_bytes == other.row_bytes &&
           (rows == 1 || stride_bytes == other.stride_bytes);
  }
};

// Returns whether a and b share a byte. Exact for packed memory and for equal strides: different columns of
// one matrix do not overlap. For different strides the test is conservative: gaps between rows count as used.
inline bool overlap(const MemoryExtent& a, const MemoryExtent& b) {
  if (a.empty() || b.empty() || a.end() <= b.begin() || b.end() <= a.begin()) return false;
  if (a.rows == 1 && b.rows == 1) return true;
  const int64_t stride = a.rows > 1 ? a.stride_bytes : b.stride_bytes;
  if (b.rows > 1 && b.stride_bytes != stride) return true;
  if (a.row_bytes > stride || b.row_bytes > stride) return true;
  // The offset of a row of `b` within a row of `a`.
  const auto distance = static_cast<int64_t>(b.begin() - a.begin()) % stride;
  const int64_t column = distance < 0 ? distance + stride : distance;
  return column < a.row_bytes || column + b.row_bytes > stride;
}

}  // namespace rondo
