// column_sums(): two sums over the rows of a matrix for every column, in double, for any kind of summand.
//
// A block sums kRowsPerBlock rows of kColsPerBlock columns. Its threads form kRowThreads rows: thread row l
// adds the matrix rows l, l + kRowThreads, ... in registers, N neighbouring columns per thread. Then the
// block adds the thread rows in order through shared memory. If there are more rows than one block processes,
// the blocks' sums form rows of partial sums, and the same kernel sums these. The order of the additions
// depends only on the row numbers.
#pragma once

#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>
#include <rondo/kernels/core/shared.cuh>

#include <algorithm>

namespace rondo::norm {

constexpr int kColsPerBlock = 32;
constexpr int kRowThreads = 16;
constexpr int kRowsPerBlock = 512;

template <int N>
struct Pair {
  double first[N] = {}, second[N] = {};
};

struct Shared {
  double first[kRowThreads][kColsPerBlock], second[kRowThreads][kColsPerBlock];
};

// `summand` is a functor. summand.channel<N>(col) prepares N columns from `col` on. It returns an object
// whose add(pair, row) adds a row to a Pair<N>. For every block of rows, `result` receives cols first sums,
// then cols second sums.
template <int N, class Summand>
__global__ void __launch_bounds__(kRowThreads* kColsPerBlock / N)
    column_sums_kernel(double* __restrict__ result, Summand summand, int64_t rows, int cols,
                       int64_t rows_per_block) {
  Shared& shared = shared_memory<Shared>();
  const int block_col = static_cast<int>(blockIdx.y) * kColsPerBlock;
  const int thread_col = static_cast<int>(threadIdx.x) * N;
  const int lane = static_cast<int>(threadIdx.y);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * rows_per_block;
  const int64_t last = min(first + rows_per_block, rows);

  Pair<N> sum;
  if (block_col + thread_col < cols) {
    const auto channel = summand.template channel<N>(block_col + thread_col);
    for (int64_t row = first + lane; row < last; row += kRowThreads) channel.add(sum, row);
  }
  for (int k = 0; k < N; ++k) {
    shared.first[lane][thread_col + k] = sum.first[k];
    shared.second[lane][thread_col + k] = sum.second[k];
  }
  __syncthreads();

  const int thread = lane * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x * blockDim.y);
  for (int j = thread; j < static_cast<int>(blockDim.x) * N; j += threads) {
    if (block_col + j >= cols) return;
    double a = shared.first[0][j], b = shared.second[0][j];
    for (int i = 1; i < kRowThreads; ++i) a += shared.first[i][j], b += shared.second[i][j];
    double* to = result + static_cast<int64_t>(blockIdx.x) * 2 * cols + block_col + j;
    to[0] = a;
    to[cols] = b;
  }
}

// The second pass: sums the rows of partial sums.
struct PartialSums {
  const double* partial;
  int cols;

  template <int N>
  struct Channel {
    static_assert(N == 1);
    const double* from;
    int cols;
    __device__ __forceinline__ void add(Pair<1>& sum, int64_t row) const {
      sum.first[0] += from[row * 2 * cols];
      sum.second[0] += from[row * 2 * cols + cols];
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    return {partial + col, cols};
  }
};

template <int N, class Summand>
Status launch_column_sums(const char* name, double* result, const Summand& summand, int64_t rows,
                          int64_t cols, int64_t rows_per_block, cudaStream_t stream) {
  LaunchShape shape;
  shape.grid_x = std::max<int64_t>(ceil_div(rows, rows_per_block), 1);
  shape.grid_y = ceil_div<int64_t>(cols, kColsPerBlock);
  shape.block_x = static_cast<int>(ceil_div<int64_t>(std::min<int64_t>(cols, kColsPerBlock), N));
  shape.block_y = kRowThreads;
  shape.shared_bytes = sizeof(Shared);
  return launch(name, shape, stream, column_sums_kernel<N, Summand>, result, summand, rows,
                static_cast<int>(cols), rows_per_block);
}

inline int64_t column_sums_workspace_bytes(int64_t rows, int64_t cols) {
  if (rows <= kRowsPerBlock) return 0;
  return saturating_product({ceil_div<int64_t>(rows, kRowsPerBlock), 2, cols, sizeof(double)});
}

// `width`: the number of neighbouring columns that `summand` can process together: kWidestPack, 4, 2 or 1.
template <class Summand>
Status column_sums(const char* name, double* sums, const Summand& summand, int64_t rows, int64_t cols,
                   int width, Workspace workspace, cudaStream_t stream) {
  const bool one_pass = rows <= kRowsPerBlock;
  double* result = one_pass ? sums : static_cast<double*>(workspace.data);
  RONDO_RETURN_IF_ERROR(
      width > 4    ? launch_column_sums<kWidestPack>(name, result, summand, rows, cols, kRowsPerBlock, stream)
      : width == 4 ? launch_column_sums<4>(name, result, summand, rows, cols, kRowsPerBlock, stream)
      : width == 2 ? launch_column_sums<2>(name, result, summand, rows, cols, kRowsPerBlock, stream)
                   : launch_column_sums<1>(name, result, summand, rows, cols, kRowsPerBlock, stream));
  if (one_pass) return {};
  const int64_t blocks = ceil_div<int64_t>(rows, kRowsPerBlock);
  return launch_column_sums<1>(name, sums, PartialSums{result, static_cast<int>(cols)}, blocks, cols, blocks,
                               stream);
}

}  // namespace rondo::norm
