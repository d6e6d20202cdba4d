// The content of a CUtensorMap, and the copies of its boxes.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "async_state.h"

namespace simt {

struct TensorMap {
  static constexpr int kMostRank = 5;
  static constexpr uint32_t kMagic = 0x70616D74;

  uint32_t magic;
  uint8_t rank;
  uint8_t swizzle_span;  // bytes; 0: none
  uint8_t element_bytes;
  uint8_t element_strides[kMostRank];
  bool rounds_to_tf32;          // loads do
  bool im2col;                  // the mode; otherwise tiled
  uint16_t box[kMostRank];      // positions that the box covers; with element strides fewer elements
  uint16_t pixels;              // im2col mode: of a column; their channels are box[0]
  uint32_t last[kMostRank];     // the size of each dimension, minus one
  uint64_t strides[kMostRank];  // bytes; strides[0] is that of an element
  char* address;
  // im2col mode: of the bounding box, from the first and the last pixel of an image; W, H, D.
  int16_t lower[kMostRank - 2], upper[kMostRank - 2];

  int elements(int dimension) const {
    return (box[dimension] + element_strides[dimension] - 1) / element_strides[dimension];
  }
  unsigned box_bytes() const;

  // The bounding box along W, H or D: dimensions 1, 2 and 3. Positions are those of the filter's base.
  int64_t first_base(int dimension) const { return lower[dimension - 1]; }
  int64_t last_base(int dimension) const { return int64_t{last[dimension]} + upper[dimension - 1]; }
};
static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));

// Where a copy begins, innermost dimension first.
struct BoxPosition {
  int at[TensorMap::kMostRank];
  uint16_t offset[TensorMap::kMostRank - 2];  // im2col mode: of the pixels from the filter's base; W, H, D
};

// Raises a fault if `map` was not made by the driver's functions, or has another rank or mode.
const TensorMap& checked_map(const char* instruction, const CUtensorMap* map, int rank, bool im2col,
                             const Place& place);

// Raises a fault if the filter's base is outside of the bounding box, or an offset out of range. `offset` has
// rank - 2 elements.
BoxPosition checked_base(const char* instruction, const TensorMap& map, const int* at, const int* offset,
                         const Place& place);

// Calls part(shared, global, bytes, valid) for each part of the box or column, of up to 16 bytes: offsets in
// shared memory from the beginning of a block's shared memory, swizzled; the bytes of global memory that are
// in the tensor.
struct BoxPart {
  size_t shared;
  char* global;      // null: all of it is outside
  unsigned skipped;  // bytes before the first one in the tensor
  unsigned bytes;    // in the tensor
  unsigned all;      // bytes of the part
};
void for_each_part(const TensorMap& map, const BoxPosition& position, size_t shared_begin,
                   void (*part)(void* user, const BoxPart&), void* user);

// The address bits 4 and up, exclusive-or'd with the bits 7 and up: one bit for a span of 32 bytes, two for
// 64, three for 128.
constexpr size_t swizzled(size_t offset, unsigned span) {
  return span == 0 ? offset : offset ^ ((offset >> 7 & (span / 16 - 1)) << 4);
}

}  // namespace simt
