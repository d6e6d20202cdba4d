// Results of wgmma on their way from registers to aligned memory. staged_rows.cuh stores those of any
// alignment.
//
// Lane 4 g + t of a warp has columns 8 j + 2 t and 8 j + 2 t + 1 of the rows g and g + 8, for every j. The
// pairs of the four lanes of a quad lie side by side. As floats they fill a sector of 32 bytes, so each lane
// stores its own. As 16 bits they fill half of one: there a quad exchanges the pairs of four j, and lane t
// stores the 8 columns from 8 (j + t) on, with one instruction instead of four.
#pragma once

#include <rondo/kernels/gemm/epilogue.cuh>
#include <rondo/kernels/gemm/wgmma/wgmma_tile.cuh>

#include <cstring>
#include <type_traits>

namespace rondo {

// One of the lanes `distance` apart gives `second` for the other's `first`.
__device__ __forceinline__ void exchange_words(unsigned& first, unsigned& second, unsigned distance) {
  const bool gives_first = (threadIdx.x & distance) != 0;
  const unsigned got = __shfl_xor_sync(0xFFFFFFFFu, gives_first ? first : second, static_cast<int>(distance));
  (gives_first ? first : second) = got;
}

// Transposes the words of the four lanes of a quad: word i of lane t becomes word t of lane i. The whole warp
// calls it.
__device__ __forceinline__ void transpose_quad(unsigned (&words)[4]) {
  exchange_words(words[0], words[1], 1);
  exchange_words(words[2], words[3], 1);
  exchange_words(words[0], words[2], 2);
  exchange_words(words[1], words[3], 2);
}

// Two adjacent values of 16 bits as they are stored.
template <class C>
__device__ __forceinline__ unsigned packed_pair(float low, float high) {
  unsigned word = 0;
  if constexpr (std::is_same_v<C, __half>) {
    const __half2 pair = __floats2half2_rn(low, high);
    memcpy(&word, &pair, sizeof word);
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    memcpy(&word, &pair, sizeof word);
  }
  return word;
}

// The columns that one instruction stores: 16 bytes of 16-bit values, and 8 bytes of floats.
template <class C>
inline constexpr int kDirectColumns = sizeof(C) == 2 ? 8 : 2;

// Whether store_directly() takes rows of `columns` values, `stride` apart. It reads no old values.
template <class C, bool kSmooth>
__device__ __forceinline__ bool can_store_directly(const EpilogueOf<kSmooth>& epilogue, const C* data,
                                                   int64_t stride, int64_t columns) {
  constexpr int kColumns = kDirectColumns<C>;
  return epilogue.beta == 0 && reinterpret_cast<uintptr_t>(data) % (kColumns * sizeof(C)) == 0 &&
         stride % kColumns == 0 && columns % kColumns == 0;
}

// What the epilogue makes of the sums of a consumer warpgroup, as EpilogueOf::value() computes it for beta =
// 0. The tile begins at column `first_column` of `columns`.
template <class Tile, bool kSmooth>
__device__ __forceinline__ void apply_epilogue(WgmmaAccumulators<Tile>& acc,
                                               const EpilogueOf<kSmooth>& epilogue, int64_t first_column,
                                               int64_t columns) {
  const auto for_each_value = [&](const auto& change) {
    RONDO_UNROLL_ON_GPU
    for (int j = 0; j < Tile::kN / 2; ++j) RONDO_UNROLL_ON_GPU
    for (int i = 0; i < Tile::kPanelsM; ++i) change(acc.d[i][j]);
  };
  if (epilogue.alpha != 1) for_each_value([&](float& sum) { sum = __fmul_rn(epilogue.alpha, sum); });
  if (epilogue.bias != nullptr) {
    const int64_t column = first_column + threadIdx.x % 4 * 2;
    const float* const bias = epilogue.bias + column;
    const int left = static_cast<int>(min(columns - column, static_cast<int64_t>(Tile::kN)));
    RONDO_UNROLL_ON_GPU
    for (int j = 0; j < Tile::kN / 8; ++j) RONDO_UNROLL
    for (int e = 0; e < 2; ++e) {
      const float of_column = 8 * j + e < left ? bias[8 * j + e] : 0;  // others are not stored
      RONDO_UNROLL
      for (int i = 0; i < Tile::kPanelsM; ++i) {
        acc.d[i][4 * j + e] += of_column;
        acc.d[i][4 * j + 2 + e] += of_column;
      }
    }
  }
  if (epilogue.activation == Activation::relu)
    for_each_value([](float& value) { value = value < 0 ? 0 : value; });  // keeps NaN
  if constexpr (kSmooth)
    if (is_smooth(epilogue.activation)) {
      constexpr int kValues = Tile::kPanelsM * Tile::kN / 2;
      transform_values<4>(reinterpret_cast<float(&)[kValues]>(acc.d),
                          [&](float value) { return smooth_activation(epilogue.activation, value); });
    }
}

// Stores the values of a consumer warpgroup, a tile whose first column is `first_column` of `columns`.
// row_of(row in the tile): where column 0 of that row is stored, or null if the row is not. C: float,
// __nv_bfloat16 or __half.
template <class C, class Tile, class RowOf>
__device__ __forceinline__ void store_directly(const WgmmaAccumulators<Tile>& acc, int group,
                                               int64_t first_column, int64_t columns, const RowOf& row_of) {
  constexpr int kFragments = Tile::kN / 8, kAtOnce = sizeof(C) == 2 ? 4 : 1;
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int first = thread % 4 * kDirectColumns<C>;  // of the columns that the lane stores
  const int left = static_cast<int>(min(columns - first_column, static_cast<int64_t>(Tile::kN))) - first;
  RONDO_UNROLL_ON_GPU
  for (int i = 0; i < Tile::kPanelsM; ++i) RONDO_UNROLL_ON_GPU
  for (int half = 0; half < 2; ++half) {
    C* to = row_of((group * Tile::kPanelsM + i) * 64 + thread / 32 * 16 + thread % 32 / 4 + 8 * half);
    const int columns_left = to ? left : 0;
    if (to) to += first_column + first;
    RONDO_UNROLL_ON_GPU
    for (int j = 0; j < kFragments; j += kAtOnce) {
      const float* const sums = &acc.d[i][4 * j + 2 * half];
      const bool is_stored = 8 * j < columns_left;
      if constexpr (sizeof(C) == 2) {
        unsigned words[4] = {};
        RONDO_UNROLL
        for (int q = 0; q < 4; ++q)
          if (j + q < kFragments) words[q] = packed_pair<C>(sums[4 * q], sums[4 * q + 1]);
        transpose_quad(words);
        Pack<C, 8> pack;
        memcpy(&pack, words, sizeof pack);
        if (is_stored) store_pack(to + 8 * j, pack);
      } else {
        if (is_stored) store_pack(to + 8 * j, Pack<float, 2>{sums[0], sums[1]});
      }
    }
  }
}

}  // namespace rondo
