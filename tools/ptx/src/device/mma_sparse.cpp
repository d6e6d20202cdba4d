#include "mma_sparse.h"

#include <algorithm>

#include "fault.h"

namespace ptx {
namespace {

constexpr int kWordBits = 32;

int stored_in_chunk(const Sparsity& sparsity) { return sparsity.units * sparsity.unit; }

}  // namespace

Sparsity sparsity_of(Type type) {
  switch (type) {
    case Type::tf32:
      return {2, 1, 1, 16};
    case Type::f16:
    case Type::bf16:
      return {4, 2, 1, 16};
    case Type::s8:
    case Type::u8:
    case Type::e4m3:
    case Type::e5m2:
      return {4, 2, 1, 32};
    case Type::s4:
    case Type::u4:
      return {8, 2, 2, 32};
    default:
      return {0, 1, 1, 32};
  }
}

int lanes_with_metadata(const Layout& layout, const Sparsity& sparsity) {
  return layout.k / sparsity.chunk * 4 * 2 / kWordBits;  // 4 bits of a chunk; two rows
}

void spread_row(const Layout& layout, const Sparsity& sparsity, const uint32_t* metadata, int selector,
                int row, float* a) {
  const int lanes = lanes_with_metadata(layout, sparsity), stored = stored_in_chunk(sparsity);
  // Indices of tf32 are two elements of 16 bits: 0b0100 is the first tf32, 0b1110 the second.
  const bool halves = sparsity.units == 1;
  float packed[kMostK];
  std::copy_n(a, layout.stored_k, packed);
  std::fill_n(a, layout.k, 0.0f);
  for (int chunk = 0; chunk < layout.k / sparsity.chunk; ++chunk) {
    const int bit = chunk * 4, group = row % 8 * 4 + selector * lanes;
    const bool one_row = sparsity.row_bits == kWordBits;
    const int lane = group + (one_row ? bit / kWordBits * 2 + row / 8 : bit / sparsity.row_bits);
    const int shift = bit % sparsity.row_bits + (one_row ? 0 : row / 8 * sparsity.row_bits);
    const uint32_t indices = metadata[lane] >> shift & 15;
    const float* const from = packed + chunk * stored;
    float* const to = a + chunk * sparsity.chunk;
    const bool zeros = std::all_of(from, from + stored, [](float value) { return value == 0; });
    const bool valid = halves ? indices == 0b0100 || indices == 0b1110 : (indices & 3) != (indices >> 2 & 3);
    if (!valid && !zeros)
      fail(kLaunchFailure, "the metadata of lane ", lane, " is ", hex(metadata[lane]), ": the indices ",
           hex(indices), " of row ", row, " from column ", chunk * sparsity.chunk, " are not valid");
    if (halves) {
      to[indices >> 3] = from[0];
      continue;
    }
    for (int n = 0; n < stored && !zeros; ++n)
      to[static_cast<int>(indices >> (2 * (n / sparsity.unit)) & 3) * sparsity.unit + n % sparsity.unit] =
          from[n];
  }
}

}  // namespace ptx
