// column_reduction(): one result for each column of a matrix.
//
// A block reduces 512 rows of some columns: thread row l takes the rows l, l + 32, ..., for N adjacent
// columns, and the 32 states of a column are merged in order, in shared memory. If there are more rows, the
// blocks leave a matrix of states, which the next launch reduces likewise, until one row is left: 10 million
// rows take three launches. The order depends on the number of rows alone.
//
// column_sums.cuh has the sums of batch normalisation and of gradients, which read several matrices at once.
#pragma once

#include <rondo/kernels/core/size.h>
#include <rondo/kernels/core/view.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/tile_threads.cuh>
#include <rondo/kernels/core/values.cuh>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace rondo::reduce {

inline constexpr int kRowsOfBlock = 512, kRowThreads = 32;
inline constexpr int kRowsAtOnce = 4;  // loads of a thread that are in flight

// The rows that a launch reduces: of values, or of the states of the launch before.
template <class T>
struct ValueRows {
  const T* x;
  int64_t stride;
  template <int N>
  struct Row {
    Values<N> values;
  };
  template <int N>
  __device__ __forceinline__ Row<N> load(int64_t row, int64_t col) const {
    if constexpr (kVectorTiles)
      return {load_elements<N>(x + row * stride + col)};
    else
      return {load_values<N>(x + row * stride + col)};
  }
  template <class Reducer, int N>
  __device__ __forceinline__ void add(const Reducer& reducer, typename Reducer::State (&states)[N],
                                      const Row<N>& loaded, int64_t row) const {
    RONDO_SIMD
    for (int k = 0; k < N; ++k) states[k] = reducer.add(states[k], loaded.values.v[k], row);
  }
};
template <class State>
struct StateRows {
  const State* states;
  int64_t stride;
  template <int N>
  struct Row {
    State state = {};  // without a value g++ warns of rows that are not there
  };
  template <int N>
  __device__ __forceinline__ Row<N> load(int64_t row, int64_t col) const {
    static_assert(N == 1);
    return {states[row * stride + col]};
  }
  template <class Reducer, int N>
  __device__ __forceinline__ void add(const Reducer&, State (&states)[N], const Row<N>& loaded,
                                      int64_t) const {
    states[0] = Reducer::merge(states[0], loaded.state);
  }
};

// The columns of a block, in threads of N columns.
template <int N>
inline constexpr int kColumnThreads = N == 1 ? 16 : 8;

// Adds the rows of one thread row.
template <int N, class Reducer, class Rows>
__device__ __forceinline__ void add_rows(typename Reducer::State (&states)[N], const Reducer& reducer,
                                         const Rows& rows, int64_t first, int64_t last, int64_t col) {
  RONDO_UNROLL_BY(1)
  for (int64_t row = first; row < last; row += kRowsAtOnce * kRowThreads) {
    typename Rows::template Row<N> loaded[kRowsAtOnce];
    RONDO_UNROLL
    for (int r = 0; r < kRowsAtOnce; ++r)
      if (row + r * kRowThreads < last) loaded[r] = rows.template load<N>(row + r * kRowThreads, col);
    RONDO_UNROLL
    for (int r = 0; r < kRowsAtOnce; ++r)
      if (row + r * kRowThreads < last) rows.add(reducer, states, loaded[r], row + r * kRowThreads);
  }
}

template <int N, class Reducer, class Rows>
__global__ void __launch_bounds__(kColumnThreads<N>* kRowThreads)
    reduce_columns_kernel(Reducer reducer, typename Reducer::Result* y, typename Reducer::State* partial,
                          Rows rows, int64_t row_count, int64_t cols, unsigned col_blocks, int64_t count) {
  using State = typename Reducer::State;
  constexpr int kCols = kColumnThreads<N> * N;
  struct Shared {
    State of[kRowThreads][kCols];
  };
  auto& shared = shared_memory<Shared>();
  const unsigned row_block = blockIdx.x / col_blocks, col_block = blockIdx.x - row_block * col_blocks;
  const int64_t block_col = static_cast<int64_t>(col_block) * static_cast<int>(blockDim.x) * N;
  const int thread_col = static_cast<int>(threadIdx.x) * N;
  const int64_t col = block_col + thread_col;
  const int64_t first = static_cast<int64_t>(row_block) * kRowsOfBlock;
  const int64_t last = min(first + kRowsOfBlock, row_count);

  State states[N];
  RONDO_UNROLL
  for (int k = 0; k < N; ++k) states[k] = Reducer::identity();
  if (col + N <= cols) {
    add_rows<N>(states, reducer, rows, first + threadIdx.y, last, col);
    RONDO_UNROLL
    for (int k = 0; k < N; ++k) shared.of[threadIdx.y][thread_col + k] = states[k];
  } else {
    RONDO_UNROLL_BY(1)
    for (int k = 0; col + k < cols; ++k) {  // columns that do not fill a pack
      State state[1] = {Reducer::identity()};
      add_rows<1>(state, reducer, rows, first + threadIdx.y, last, col + k);
      shared.of[threadIdx.y][thread_col + k] = state[0];
    }
  }
  __syncthreads();

  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  const int threads = static_cast<int>(blockDim.x) * kRowThreads, here = static_cast<int>(blockDim.x) * N;
  for (int c = thread; c < here && block_col + c < cols; c += threads) {
    State state = shared.of[0][c];
    RONDO_UNROLL
    for (int l = 1; l < kRowThreads; ++l) state = Reducer::merge(state, shared.of[l][c]);
    if (partial)
      partial[row_block * cols + block_col + c] = state;
    else
      y[block_col + c] = reducer.result(state, count);
  }
}

// The columns of a thread of the CPU executor, which does the work of all threads of a block.
inline constexpr int kColumnsOfVectors = 128;

template <int N, class Reducer, class Rows>
__global__ void __launch_bounds__(1)
    reduce_columns_by_vectors_kernel(Reducer reducer, typename Reducer::Result* y,
                                     typename Reducer::State* partial, Rows rows, int64_t row_count,
                                     int64_t cols, unsigned col_blocks, int64_t count) {
  using State = typename Reducer::State;
  const unsigned row_block = blockIdx.x / col_blocks, col_block = blockIdx.x - row_block * col_blocks;
  const int64_t block_col = static_cast<int64_t>(col_block) * kColumnsOfVectors;
  const int here = static_cast<int>(min(cols - block_col, int64_t{kColumnsOfVectors}));
  const int64_t first = static_cast<int64_t>(row_block) * kRowsOfBlock;
  const int64_t last = min(first + kRowsOfBlock, row_count);

  State merged[kColumnsOfVectors];
  const auto add_columns = [&]<int n>(std::integral_constant<int, n>, int thread_row, int c) {
    State states[n];
    for (State& state : states) state = Reducer::identity();
    add_rows<n>(states, reducer, rows, first + thread_row, last, block_col + c);
    RONDO_SIMD
    for (int k = 0; k < n; ++k)
      merged[c + k] = thread_row == 0 ? states[k] : Reducer::merge(merged[c + k], states[k]);
  };
  for (int thread_row = 0; thread_row < kRowThreads; ++thread_row) {
    int c = 0;
    for (; c + N <= here; c += N) add_columns(std::integral_constant<int, N>(), thread_row, c);
    for (; c < here; ++c) add_columns(std::integral_constant<int, 1>(), thread_row, c);
  }
  for (int c = 0; c < here; ++c)
    if (partial)
      partial[row_block * cols + block_col + c] = merged[c];
    else
      y[block_col + c] = reducer.result(merged[c], count);
}

inline int64_t row_blocks_of(int64_t rows) {
  return std::max<int64_t>(ceil_div<int64_t>(rows, kRowsOfBlock), 1);
}

inline int64_t column_workspace_bytes(int64_t rows, int64_t cols) {
  int64_t states = 0;  // of a column
  for (int64_t left = row_blocks_of(rows); left > 1; left = row_blocks_of(left)) states += left;
  return saturating_product({states, std::max<int64_t>(cols, 0), int64_t{sizeof(double)}});
}

template <int N, class Reducer, class Rows>
Status launch_columns(const char* name, const Reducer& reducer, typename Reducer::Result* y,
                      typename Reducer::State* partial, const Rows& rows, int64_t row_count, int64_t cols,
                      int64_t count, cudaStream_t stream) {
  const int64_t packs = ceil_div<int64_t>(cols, N);
  LaunchShape shape;
  if constexpr (kVectorTiles)
    if (use_vector_threads()) {
      const int64_t col_blocks = ceil_div<int64_t>(cols, kColumnsOfVectors);
      shape.grid_x = saturating_product({row_blocks_of(row_count), col_blocks});
      return launch(name, shape, stream, reduce_columns_by_vectors_kernel<N, Reducer, Rows>, reducer, y,
                    partial, rows, row_count, cols, static_cast<unsigned>(col_blocks), count);
    }
  shape.block_x = 1;
  while (shape.block_x < kColumnThreads<N> && shape.block_x < packs) shape.block_x *= 2;
  shape.block_y = kRowThreads;
  shape.shared_bytes = int64_t{kRowThreads} * kColumnThreads<N> * N * sizeof(typename Reducer::State);
  const int64_t col_blocks = ceil_div<int64_t>(packs, shape.block_x);
  shape.grid_x = saturating_product({row_blocks_of(row_count), col_blocks});
  return launch(name, shape, stream, reduce_columns_kernel<N, Reducer, Rows>, reducer, y, partial, rows,
                row_count, cols, static_cast<unsigned>(col_blocks), count);
}

// y[j] = the result of column j. Also of columns without rows. `aligned`: all rows begin at multiples of 16
// bytes.
template <class Reducer, class T>
Status column_reduction(const char* name, const Reducer& reducer, typename Reducer::Result* y,
                        MatrixView<const T> x, bool aligned, Workspace workspace, cudaStream_t stream) {
  using State = typename Reducer::State;
  if (x.cols == 0) return {};
  constexpr int kWide = kVectorTiles ? kWidestPack : 16 / sizeof(T);
  const ValueRows<T> values = {x.data, x.stride};
  auto* partial = static_cast<State*>(workspace.data);
  int64_t left = row_blocks_of(x.rows);
  State* const to = left > 1 ? partial : nullptr;
  const bool wide = (aligned || kVectorTiles) && x.cols >= kWide;
  RONDO_RETURN_IF_ERROR(
      wide ? launch_columns<kWide>(name, reducer, y, to, values, x.rows, x.cols, x.rows, stream)
           : launch_columns<1>(name, reducer, y, to, values, x.rows, x.cols, x.rows, stream));
  while (left > 1) {
    const StateRows<State> states = {partial, x.cols};
    partial += left * x.cols;
    const int64_t row_count = left;
    left = row_blocks_of(left);
    RONDO_RETURN_IF_ERROR(launch_columns<1>(name, reducer, y, left > 1 ? partial : nullptr, states, row_count,
                                            x.cols, x.rows, stream));
  }
  return {};
}

}  // namespace rondo::reduce
