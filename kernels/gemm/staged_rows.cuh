// Results of tensor cores on their way to global memory.
//
// A thread has pairs of adjacent columns of many rows, as mma.sync and wgmma lay them out: lane 4 g + t has
// columns 8 j + 2 t and 8 j + 2 t + 1 of the rows g and g + 8. Stores of its own would be narrow or
// misaligned, and there would be one for each pair in the code. So a warp writes 32 columns of 16 rows to
// shared memory, and reads 4 columns a lane: 8 lanes then store 32 columns of a row.
#pragma once

#include <rondo/kernels/core/vec.cuh>

namespace rondo {

// The rows that one warp stages. The padding keeps the writes (pairs of 4 rows at a time) and the reads
// free of bank conflicts.
struct StagedRows {
  static constexpr int kColumns = 32, kStride = 40;
  alignas(16) float values[16][kStride];
};

// `sums`: of up to 4 fragments of 16 x 8, beside each other. Calls store(row, column, Vec<4>) for all of
// them; row and column count from the first one.
template <int kFragments, class Store>
__device__ __forceinline__ void store_staged(StagedRows& staged, const float (&sums)[kFragments][4],
                                             const Store& store) {
  static_assert(8 * kFragments <= StagedRows::kColumns);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  __syncwarp();  // the lanes have read what was staged before
  RONDO_UNROLL
  for (int half = 0; half < 2; ++half) RONDO_UNROLL
  for (int j = 0; j < kFragments; ++j) {
    Vec<2> pair;
    pair.set(0, sums[j][2 * half]);
    pair.set(1, sums[j][2 * half + 1]);
    pair.store(&staged.values[lane / 4 + 8 * half][8 * j + lane % 4 * 2]);
  }
  __syncwarp();
  const int column = lane % 8 * 4;
  if (column >= 8 * kFragments) return;  // never with 4
  RONDO_UNROLL_BY(1)
  for (int row = lane / 8; row < 16; row += 4) store(row, column, Vec<4>::load(&staged.values[row][column]));
}

// The same where store() returns the values as it stored them. Calls add(row, value) with those of a column
// of 16 rows: lane l has column l.
template <class Store, class Add>
__device__ __forceinline__ void store_staged(StagedRows& staged, const float (&sums)[4][4],
                                             const Store& store, const Add& add) {
  store_staged(staged, sums, [&](int row, int column, const Vec<4>& values) {
    store(row, column, values).store(&staged.values[row][column]);
  });
  __syncwarp();
  const int column = static_cast<int>(threadIdx.x) % 32;
  RONDO_UNROLL_BY(4)
  for (int row = 0; row < 16; ++row) add(row, staged.values[row][column]);
}

}  // namespace rondo
