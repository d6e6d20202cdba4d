// column_sums(): sums over the rows of a matrix, for each column.
//
// A block sums kRowsPerBlock rows of kColsPerBlock columns. A thread with threadIdx.y = l adds the matrix
// rows l, l + kRowThreads, ... in registers, for N adjacent columns. Then the kRowThreads partial sums of a
// column are added in order, in shared memory. If the matrix has more than kRowsPerBlock rows, the blocks
// write partial sums to the workspace, and a second launch of the same kernel adds them. The order of
// additions depends on the row numbers alone: not on N, and not on the device. A thread of the CPU executor
// does the work of all threads of a block, one after another, for kColsOfVectors columns.
#pragma once

#include <rondo/kernels/core/size.h>
#include <rondo/kernels/core/view.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/tile_threads.cuh>
#include <rondo/kernels/core/values.cuh>

#include <algorithm>
#include <cstdint>

namespace rondo::columns {

inline constexpr int kColsPerBlock = 32;  // as floats, one cache line of 128 bytes
inline constexpr int kRowsPerBlock = 512;
inline constexpr int kColsOfVectors = 128;

// The sums of one thread: kSums for each of N columns.
template <class Value, int kSums, int N>
struct Sums {
  Value of[kSums][N] = {};
  __device__ __forceinline__ Value value(int s, int k) const { return of[s][k]; }
};

// The places of a thread row's partial sums in shared memory: the n-th values of all threads are adjacent.
// The hardware stores 8 bytes of 16 lanes at a time; if these are 2 rows of 8 threads, the odd row swaps its
// halves, so that neither stores nor loads have bank conflicts. Values of 4 bytes keep a conflict of
// 32 / kThreads rows: without it the kernel spills registers on 10.0.
template <class Value, int N>
struct Places {
  static constexpr int kThreads = kColsPerBlock / N;  // of a row
  static __device__ __forceinline__ int of(int thread, int n, int row) {
    return rotated(n * kThreads + thread, row);
  }
  // The column at `place` of row 0, and the place of this column in another row.
  static __device__ __forceinline__ int column(int place) {
    return N == 1 ? place : place % kThreads * N + place / kThreads;
  }
  static __device__ __forceinline__ int rotated(int place, int row) {
    return sizeof(Value) == 8 && kThreads < 16 ? place ^ (row * kThreads % 16) : place;
  }
};

template <class Summand>
struct Shared {
  typename Summand::Value sums[Summand::kSums][Summand::kRowThreads][kColsPerBlock];
};

// The default of `finish`: the sum is stored as it is.
struct Replace {
  template <class Value>
  __device__ __forceinline__ Value operator()(Value sum, const Value*) const {
    return sum;
  }
};

template <class Summand, int N>
inline constexpr int kThreads = kColsPerBlock / N* Summand::kRowThreads;  // of a block

// The minimum of resident blocks in the launch bounds; 0: none. Without one, ptxas limits a thread to too few
// registers for 8 columns, and spills (7.5, 8.0). With 768 threads each can have 85 registers.
template <class Summand, int N>
inline constexpr int kLeastBlocks = N > 4 ? 768 / kThreads<Summand, N> : 0;

// `summand` is a functor with the type Value, the numbers kSums, kRowThreads and kWidest (the most columns at
// once), and channel<N>(col), which returns a `channel` for the N columns from `col` on. channel.add(sums,
// row) adds a row to sums, a Partial<N>: Sums<Value, kSums, N>, or a faster type, which needs value(s, k) and
// out_of_range(). The latter returns a bit for each column whose sums are invalid; the rows of such a column
// are added again, by channel<1>.add() to Sums<Value, kSums, 1>. Optional: channel.begin(sums, row) adds the
// first row, and sums.rows receives the number of rows.
//
// Adds the rows first, first + kRowThreads, ... of N columns: put(s, k, value) for each sum.
template <int N, class Summand, class Put>
__device__ __forceinline__ void add_thread_row(const Summand& summand, int col, int64_t first, int64_t last,
                                               Put put) {
  constexpr int kSums = Summand::kSums, kRowThreads = Summand::kRowThreads;
  typename Summand::template Partial<N> sums;
  {
    const auto channel = summand.template channel<N>(col);
    int64_t row = first;
    if constexpr (requires { channel.begin(sums, row); })
      if (row < last) channel.begin(sums, row), row += kRowThreads;
    for (; row < last; row += kRowThreads) channel.add(sums, row);
    if constexpr (requires { sums.rows; }) sums.rows = static_cast<int>((row - first) / kRowThreads);
  }
#pragma unroll
  for (int s = 0; s < kSums; ++s)
    for (int k = 0; k < N; ++k) put(s, k, sums.value(s, k));
  if constexpr (requires { sums.out_of_range(); }) {
    const unsigned columns = sums.out_of_range();
    RONDO_UNROLL_BY(1)
    for (int k = 0; k < N; ++k) {
      if ((columns >> k & 1) == 0) continue;
      const auto channel = summand.template channel<1>(col + k);
      Sums<typename Summand::Value, kSums, 1> exact;
      RONDO_UNROLL_BY(1)
      for (int64_t row = first; row < last; row += kRowThreads) channel.add(exact, row);
      for (int s = 0; s < kSums; ++s) put(s, k, exact.of[s][0]);
    }
  }
}

// `result` receives, for each block of rows, `cols` values of the first sum, then `cols` of the second, and
// so on.
template <int N, class Summand, class Finish>
__global__ void __launch_bounds__(kThreads<Summand, N>, kLeastBlocks<Summand, N>)
    column_sums_kernel(typename Summand::Value* __restrict__ result, Summand summand, int64_t rows, int cols,
                       int64_t rows_per_block, Finish finish) {
  using Value = typename Summand::Value;
  using At = Places<Value, N>;
  constexpr int kSums = Summand::kSums, kRowThreads = Summand::kRowThreads;
  auto& shared = shared_memory<Shared<Summand>>();
  const int block_col = static_cast<int>(blockIdx.y) * kColsPerBlock;
  const int thread_col = static_cast<int>(threadIdx.x) * N;
  const int row_thread = static_cast<int>(threadIdx.y);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * rows_per_block;
  const int64_t last = min(first + rows_per_block, rows);

  if (block_col + thread_col < cols)
    add_thread_row<N>(
        summand, block_col + thread_col, first + row_thread, last, [&](int s, int k, Value value) {
          shared.sums[s][row_thread][At::of(static_cast<int>(threadIdx.x), k, row_thread)] = value;
        });
  __syncthreads();

  const int thread = row_thread * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x * blockDim.y);
  for (int place = thread; place < (N == 1 ? static_cast<int>(blockDim.x) : kColsPerBlock);
       place += threads) {
    const int col = At::column(place);
    if (N == 1 && block_col + col >= cols) return;  // the columns ascend
    if (block_col + col >= cols) continue;
    Value* to = result + static_cast<int64_t>(blockIdx.x) * kSums * cols + block_col + col;
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
      Value total = shared.sums[s][0][place];
      for (int i = 1; i < kRowThreads; ++i) total += shared.sums[s][i][At::rotated(place, i)];
      to[s * cols] = finish(total, to + s * cols);
    }
  }
}

// The same by a thread of the CPU executor.
template <int N, class Summand, class Finish>
__global__ void __launch_bounds__(1)
    column_sums_by_vectors_kernel(typename Summand::Value* __restrict__ result, Summand summand, int64_t rows,
                                  int cols, int64_t rows_per_block, Finish finish) {
  using Value = typename Summand::Value;
  constexpr int kSums = Summand::kSums, kRowThreads = Summand::kRowThreads;
  const int block_col = static_cast<int>(blockIdx.y) * kColsOfVectors;
  const int here = min(cols - block_col, kColsOfVectors);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * rows_per_block;
  const int64_t last = min(first + rows_per_block, rows);

  Value total[kSums][kColsOfVectors];
  for (int row_thread = 0; row_thread < kRowThreads; ++row_thread)
    for (int j = 0; j < here; j += N) {
      Value sums[kSums][N];
      add_thread_row<N>(summand, block_col + j, first + row_thread, last,
                        [&](int s, int k, Value value) { sums[s][k] = value; });
      for (int s = 0; s < kSums; ++s) {
        RONDO_SIMD
        for (int k = 0; k < N; ++k)
          total[s][j + k] = row_thread == 0 ? sums[s][k] : total[s][j + k] + sums[s][k];
      }
    }
  Value* const to = result + static_cast<int64_t>(blockIdx.x) * kSums * cols + block_col;
  for (int s = 0; s < kSums; ++s)
    for (int j = 0; j < here; ++j) to[s * cols + j] = finish(total[s][j], to + s * cols + j);
}

// The summand of the second pass: rows of partial sums.
template <class Summand>
struct PartialSums {
  using Value = typename Summand::Value;
  static constexpr int kSums = Summand::kSums, kRowThreads = Summand::kRowThreads;
  const Value* partial;
  int cols;

  template <int N>
  using Partial = Sums<Value, kSums, N>;
  template <int N>
  struct Channel {
    static_assert(N == 1);
    const Value* from;
    int cols;
    __device__ __forceinline__ void add(Sums<Value, kSums, 1>& sums, int64_t row) const {
#pragma unroll
      for (int s = 0; s < kSums; ++s) sums.of[s][0] += from[row * kSums * cols + s * cols];
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    return {partial + col, cols};
  }
};

template <int N, class Summand, class Finish>
Status launch_width(const char* name, typename Summand::Value* result, const Summand& summand, int64_t rows,
                    int64_t cols, int64_t rows_per_block, const Finish& finish, cudaStream_t stream) {
  LaunchShape shape;
  shape.grid_x = std::max<int64_t>(ceil_div(rows, rows_per_block), 1);
  if constexpr (kVectorTiles)
    if (use_vector_threads()) {
      shape.grid_y = ceil_div<int64_t>(cols, kColsOfVectors);
      return launch(name, shape, stream, column_sums_by_vectors_kernel<N, Summand, Finish>, result, summand,
                    rows, static_cast<int>(cols), rows_per_block, finish);
    }
  shape.grid_y = ceil_div<int64_t>(cols, kColsPerBlock);
  shape.block_x = static_cast<int>(ceil_div<int64_t>(std::min<int64_t>(cols, kColsPerBlock), N));
  shape.block_y = Summand::kRowThreads;
  shape.shared_bytes = sizeof(Shared<Summand>);
  return launch(name, shape, stream, column_sums_kernel<N, Summand, Finish>, result, summand, rows,
                static_cast<int>(cols), rows_per_block, finish);
}

template <class Summand, class Finish>
Status launch_columns(const char* name, typename Summand::Value* result, const Summand& summand, int64_t rows,
                      int64_t cols, int width, int64_t rows_per_block, const Finish& finish,
                      cudaStream_t stream) {
  if constexpr (Summand::kWidest == 1)
    return launch_width<1>(name, result, summand, rows, cols, rows_per_block, finish, stream);
  else {
    auto* const launch_of_width = width > 4    ? launch_width<Summand::kWidest, Summand, Finish>
                                  : width == 4 ? launch_width<4, Summand, Finish>
                                  : width == 2 ? launch_width<2, Summand, Finish>
                                               : launch_width<1, Summand, Finish>;
    return launch_of_width(name, result, summand, rows, cols, rows_per_block, finish, stream);
  }
}

// The sums of each block of `rows_per_block` rows, in the layout of column_sums_kernel().
template <class Summand>
Status block_sums(const char* name, typename Summand::Value* result, const Summand& summand, int64_t rows,
                  int64_t cols, int width, int64_t rows_per_block, cudaStream_t stream) {
  return launch_columns(name, result, summand, rows, cols, width, rows_per_block, Replace{}, stream);
}

// The sums of all rows from the sums of `blocks` blocks.
template <class Summand, class Finish = Replace>
Status sums_of_blocks(const char* name, typename Summand::Value* sums,
                      const typename Summand::Value* of_blocks, int64_t blocks, int64_t cols,
                      cudaStream_t stream, Finish finish = {}) {
  return launch_width<1>(name, sums, PartialSums<Summand>{of_blocks, static_cast<int>(cols)}, blocks, cols,
                         std::max<int64_t>(blocks, 1), finish, stream);
}

template <class Value, int kSums>
int64_t workspace_bytes(int64_t rows, int64_t cols) {
  if (rows <= kRowsPerBlock) return 0;
  return saturating_product({ceil_div<int64_t>(rows, kRowsPerBlock), kSums, cols, sizeof(Value)});
}

// `width`: the number of adjacent columns that `summand` can process at once: kWidest, 4, 2 or 1. The
// value finish(sum, to) is stored at `to`. A default-constructed Finish must return `sum`: it stores partial
// sums.
template <class Summand, class Finish = Replace>
Status column_sums(const char* name, typename Summand::Value* sums, const Summand& summand, int64_t rows,
                   int64_t cols, int width, Workspace workspace, cudaStream_t stream, Finish finish = {}) {
  if (rows <= kRowsPerBlock)
    return launch_columns(name, sums, summand, rows, cols, width, kRowsPerBlock, finish, stream);
  auto* const partial = static_cast<typename Summand::Value*>(workspace.data);
  RONDO_RETURN_IF_ERROR(
      launch_columns(name, partial, summand, rows, cols, width, kRowsPerBlock, Finish{}, stream));
  return sums_of_blocks<Summand>(name, sums, partial, ceil_div<int64_t>(rows, kRowsPerBlock), cols, stream,
                                 finish);
}

}  // namespace rondo::columns
