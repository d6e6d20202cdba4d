// broadcast_kernel(): y[i, j] = function(a[i, j], b[i, j], ...) over matrices with gaps between their rows,
// and inputs that have one row, one column or one value for the whole matrix.
//
// A thread computes N adjacent elements at several places. It loads an input at all places before the next
// one, so that several loads are in flight. The places are rows of one column range; a matrix of few rows has
// them side by side in one row. A row that is the same for all comes from the L1 cache after its first load,
// and costs no registers. What an input is (whole, a row, a column, a value) is known at run time, so that an
// operator has one kernel for all of them.
//
// On a GPU, N elements are 16 bytes of the narrowest type if all rows begin at multiples of 16 bytes, else
// one element. Neighbouring threads take neighbouring packs. On the CPU executor, whose threads have vector
// registers, N is the widest pack for any alignment, and the places of a thread are neighbours.
#pragma once

#include <rondo/kernels/core/view.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/values.cuh>
#include <rondo/kernels/elementwise/flat.cuh>

#include <algorithm>
#include <cstdint>

namespace rondo::detail {

inline constexpr int kBroadcastThreads = 256;

// The places of a thread, and at how many of them it loads before it computes. A GPU keeps these values in
// registers.
template <int N>
inline constexpr int kSteps = kVectorTiles ? 16
                              : N > 4      ? 2
                              : N > 1      ? 4
                                           : 8;
template <int N>
inline constexpr int kStepsAtOnce = kVectorTiles ? 1 : kSteps<N>;

// The places of a thread: rows and first columns of packs.
struct BroadcastPlaces {
  int64_t row, col, rows, cols;  // the first place; the matrix
  int64_t row_step, col_step;
  int across_bits;  // with vector registers, 2^across_bits of the kSteps places are in one row

  __device__ __forceinline__ int64_t row_at(int step) const {
    return row + (kVectorTiles ? step >> across_bits : step * row_step);
  }
  __device__ __forceinline__ int64_t col_at(int step) const {
    return col + (kVectorTiles ? step & ((1 << across_bits) - 1) : step) * col_step;
  }
  // How many elements from the place on lie in the matrix; may be negative.
  __device__ __forceinline__ int64_t count_at(int step) const {
    return row_at(step) < rows ? cols - col_at(step) : 0;
  }
};

template <int N>
struct LoadedPacks {
  Values<N> at[kStepsAtOnce<N>];
};

// One input, a matrix of T or a value.
template <class T>
struct BroadcastInput {
  using Type = T;
  const T* data;       // null: `value` everywhere
  int64_t row_stride;  // 0: the same row for all rows
  bool along_row;      // false: one element for a whole row
  float value;

  __device__ __forceinline__ float element(int64_t row, int64_t col) const {
    return data ? static_cast<float>(data[row * row_stride + (along_row ? col : 0)]) : value;
  }
  // The packs at the places from `first` on that lie in the matrix.
  template <int N>
  __device__ __forceinline__ LoadedPacks<N> load(const BroadcastPlaces& places, int first) const {
    LoadedPacks<N> loaded;
    if (data && along_row) {
      RONDO_UNROLL
      for (int s = 0; s < kStepsAtOnce<N>; ++s)
        if (places.count_at(first + s) >= N) {
          const T* const from = data + places.row_at(first + s) * row_stride + places.col_at(first + s);
          if constexpr (kVectorTiles)
            loaded.at[s] = load_elements<N>(from);
          else
            loaded.at[s] = load_values<N>(from);
        }
    } else {
      RONDO_UNROLL
      for (int s = 0; s < kStepsAtOnce<N>; ++s)
        if (places.count_at(first + s) >= N) {
          const float of_row = element(places.row_at(first + s), 0);
          RONDO_SIMD
          for (int k = 0; k < N; ++k) loaded.at[s].v[k] = of_row;
        }
    }
    return loaded;
  }
};

// How threads walk over a matrix.
struct BroadcastWalk {
  int64_t rows, cols;
  int64_t rows_of_block, rows_of_thread, row_step;
  int64_t cols_of_block, cols_of_thread, col_step;  // in elements
  int across_bits;
  unsigned col_blocks;
};

// Without a number of blocks, ptxas 13.0 keeps to 56 registers for 8.0 and spills one. More than four inputs
// need more registers.
template <int N, class Function, class Output, class... Input>
__global__ void __launch_bounds__(kBroadcastThreads, sizeof...(Input) <= 4 ? 3 : 1)
    broadcast_kernel(Output* y, int64_t stride, BroadcastWalk walk, Function function,
                     BroadcastInput<Input>... in) {
  const unsigned row_block = blockIdx.x / walk.col_blocks,
                 col_block = blockIdx.x - row_block * walk.col_blocks;
  const BroadcastPlaces places = {row_block * walk.rows_of_block + threadIdx.y * walk.rows_of_thread,
                                  col_block * walk.cols_of_block + threadIdx.x * walk.cols_of_thread,
                                  walk.rows,
                                  walk.cols,
                                  walk.row_step,
                                  walk.col_step,
                                  walk.across_bits};
  for (int first = 0; first < kSteps<N>; first += kStepsAtOnce<N>) {
    const auto apply = [&](const auto&... loaded) {
      RONDO_UNROLL
      for (int s = 0; s < kStepsAtOnce<N>; ++s) {
        if (places.count_at(first + s) < N) continue;
        Values<N> result;
        RONDO_SIMD
        for (int k = 0; k < N; ++k) result.v[k] = function(loaded.at[s].v[k]...);
        Output* const to = y + places.row_at(first + s) * stride + places.col_at(first + s);
        if constexpr (kVectorTiles)
          store_elements<N>(to, result);
        else
          store_values<N>(to, result);
      }
    };
    apply(in.template load<N>(places, first)...);
  }
  // Packs that reach beyond the last column. A pack of one element does not.
  RONDO_UNROLL_BY(1)
  for (int s = 0; N > 1 && s < kSteps<N>; ++s) {
    const int64_t row = places.row_at(s), col = places.col_at(s), count = places.count_at(s);
    if (count >= N) continue;
    RONDO_UNROLL_BY(1)
    for (int k = 0; k < count; ++k)
      y[row * stride + col + k] = static_cast<Output>(function(in.element(row, col + k)...));
  }
}

// On the executor: the places of a thread are side by side, as many as the columns need, and then below each
// other; so are the threads.
template <int N>
void walk_by_vectors(BroadcastWalk& walk, int64_t packs, LaunchShape& shape) {
  while (1 << walk.across_bits < kSteps<N> && 1 << walk.across_bits < packs) ++walk.across_bits;
  const int across = 1 << walk.across_bits, down = kSteps<N> / across;
  shape.block_x = 1;
  while (shape.block_x < kBroadcastThreads && int64_t{shape.block_x} * across < packs) shape.block_x *= 2;
  shape.block_y = kBroadcastThreads / shape.block_x;
  while (shape.block_y > 1 && int64_t{shape.block_y} / 2 * down >= walk.rows) shape.block_y /= 2;
  walk.rows_of_block = int64_t{shape.block_y} * down;
  walk.rows_of_thread = down;
  walk.cols_of_block = int64_t{shape.block_x} * across * N;
  walk.cols_of_thread = int64_t{across} * N;
  walk.col_step = N;
}

// On a GPU: those of different threads are neighbours.
template <int N>
void walk_by_lanes(BroadcastWalk& walk, int64_t packs, LaunchShape& shape) {
  shape.block_x = 1;
  while (shape.block_x < 32 && shape.block_x < packs) shape.block_x *= 2;
  shape.block_y = kBroadcastThreads / shape.block_x;
  const bool down = walk.rows >= shape.block_y * kSteps<N> || shape.block_x < 32;
  if (!down) {  // a block as wide as the rows allow
    shape.block_y = 1;
    while (shape.block_y < 8 && shape.block_y < walk.rows) shape.block_y *= 2;
    shape.block_x = kBroadcastThreads / shape.block_y;
  }
  walk.rows_of_block = int64_t{shape.block_y} * (down ? kSteps<N> : 1);
  walk.rows_of_thread = 1;
  walk.row_step = down ? shape.block_y : 0;
  walk.cols_of_block = int64_t{shape.block_x} * (down ? 1 : kSteps<N>)*N;
  walk.cols_of_thread = N;
  walk.col_step = down ? 0 : int64_t{shape.block_x} * N;
}

template <int N>
BroadcastWalk walk_over(int64_t rows, int64_t cols, LaunchShape& shape) {
  BroadcastWalk walk = {};
  walk.rows = rows;
  walk.cols = cols;
  const int64_t packs = ceil_div<int64_t>(cols, N);
  if constexpr (kVectorTiles)
    walk_by_vectors<N>(walk, packs, shape);
  else
    walk_by_lanes<N>(walk, packs, shape);
  const int64_t row_blocks = ceil_div(rows, walk.rows_of_block),
                col_blocks = ceil_div(cols, walk.cols_of_block);
  walk.col_blocks = static_cast<unsigned>(col_blocks);
  shape.grid_x = saturating_product({row_blocks, col_blocks});
  return walk;
}

template <int N, class Function, class Output, class... Input>
Status launch_broadcast(const char* name, const Function& function, MatrixView<Output> y, cudaStream_t stream,
                        const BroadcastInput<Input>&... in) {
  LaunchShape shape;
  const BroadcastWalk walk = walk_over<N>(y.rows, y.cols, shape);
  return launch(name, shape, stream, broadcast_kernel<N, Function, Output, Input...>, y.data, y.stride, walk,
                function, in...);
}

template <class Function, class Output, class... Input>
Status broadcast(const char* name, const Function& function, MatrixView<Output> y, cudaStream_t stream,
                 const BroadcastInput<Input>&... in) {
  if (y.rows == 0 || y.cols == 0) return {};
  constexpr int kWide = kSlotElements<Output, Input...>;
  const bool aligned =
      rows_are_aligned(y.data, y.rows, y.stride) &&
      ((!in.data || !in.along_row || rows_are_aligned(in.data, y.rows, in.row_stride)) && ...);
  if constexpr (!kVectorTiles)
    if (!aligned || y.cols < kWide) return launch_broadcast<1>(name, function, y, stream, in...);
  return launch_broadcast<kWide>(name, function, y, stream, in...);
}

}  // namespace rondo::detail
