// A block sums kRowsPerBlock rows of up to kColsPerBlock columns. Its threads form kRowThreads rows: thread
// row l adds the matrix rows l, l + kRowThreads, ... in registers, one pack of columns per thread. Then the
// block adds the thread rows in order through shared memory. If there are more rows than one block processes,
// the blocks' sums form a matrix of partial sums, and the same kernel sums that matrix.
//
// The order of the additions depends only on the row numbers, not on the pack width or on the device.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>
#include <rondo/kernels/core/shared.cuh>

#include <algorithm>

namespace rondo {
namespace {

constexpr int kColsPerBlock = 32;  // 128 bytes of a row: one cache line
constexpr int kRowThreads = 32;
constexpr int kRowsPerBlock = 512;

struct Shared {
  float sums[kRowThreads][kColsPerBlock];
};

// result[block of rows][j] = sum over the block's rows i of x[i][j] + beta * result[...][j]
template <int N>
__global__ void __launch_bounds__(kRowThreads* kColsPerBlock / N)
    column_sums_kernel(float* __restrict__ result, const float* __restrict__ x, int64_t rows, int cols,
                       int64_t stride, int64_t rows_per_block, float beta) {
  Shared& shared = shared_memory<Shared>();
  const int block_col = static_cast<int>(blockIdx.y) * kColsPerBlock;
  const int thread_col = static_cast<int>(threadIdx.x) * N;
  const int lane = static_cast<int>(threadIdx.y);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * rows_per_block;
  const int64_t last = min(first + rows_per_block, rows);

  Pack<float, N> sum = {};
  if (block_col + thread_col < cols)
    for (int64_t row = first + lane; row < last; row += kRowThreads) {
      const auto element = load_pack<N>(x + row * stride + block_col + thread_col);
      RONDO_SIMD
      for (int k = 0; k < N; ++k) sum.v[k] += element.v[k];
    }
  for (int k = 0; k < N; ++k) shared.sums[lane][thread_col + k] = sum.v[k];
  __syncthreads();

  const int block_threads = static_cast<int>(blockDim.x * blockDim.y);
  const int thread = lane * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  for (int j = thread; j < static_cast<int>(blockDim.x) * N; j += block_threads) {
    if (block_col + j >= cols) return;
    float total = shared.sums[0][j];
    for (int i = 1; i < kRowThreads; ++i) total += shared.sums[i][j];
    float* to = result + static_cast<int64_t>(blockIdx.x) * cols + block_col + j;
    *to = beta == 0 ? total : fmaf(beta, *to, total);
  }
}

Status launch_column_sums(float* result, MatrixView<const float> x, int64_t rows_per_block, float beta,
                          cudaStream_t stream) {
  // Every row must begin on a pack boundary, so the stride must be a multiple of the pack width as well.
  const int width = std::min(pack_width<kWidestPack>(x.cols, x.data),
                             pack_width<kWidestPack>(x.rows > 1 ? x.stride : x.cols, x.data));
  LaunchShape shape;
  shape.grid_x = std::max<int64_t>(ceil_div(x.rows, rows_per_block), 1);
  shape.grid_y = ceil_div<int64_t>(x.cols, kColsPerBlock);
  shape.block_x = static_cast<int>(std::min<int64_t>(x.cols, kColsPerBlock)) / width;
  shape.block_y = kRowThreads;
  shape.shared_bytes = sizeof(Shared);
  const auto kernel = width > 4    ? column_sums_kernel<kWidestPack>
                      : width == 4 ? column_sums_kernel<4>
                      : width == 2 ? column_sums_kernel<2>
                                   : column_sums_kernel<1>;
  return launch("bias_gradient", shape, stream, kernel, result, x.data, x.rows, static_cast<int>(x.cols),
                x.stride, rows_per_block, beta);
}

}  // namespace

int64_t bias_gradient_workspace_bytes(int64_t rows, int64_t cols) {
  if (rows <= kRowsPerBlock) return 0;
  return saturating_product({ceil_div<int64_t>(rows, kRowsPerBlock), cols, sizeof(float)});
}

Status bias_gradient(VectorView<float> db, MatrixView<const float> dy, float beta, Workspace workspace,
                     cudaStream_t stream) {
  ArgumentCheck check("bias_gradient");
  check.output("db", db);
  check.input("dy", dy);
  check.require(db.size == dy.cols, "db.size is ", db.size, ", must be dy.cols = ", dy.cols);
  constexpr int64_t kMaxCols = (1 << 21) - 1;  // limit of the grid: 65535 blocks in y
  check.require(dy.cols <= kMaxCols, "dy.cols is ", dy.cols, ", must be at most ", kMaxCols);
  check.workspace(workspace, bias_gradient_workspace_bytes(dy.rows, dy.cols));
  RONDO_RETURN_IF_ERROR(check.status());
  if (dy.rows <= kRowsPerBlock) return launch_column_sums(db.data, dy, kRowsPerBlock, beta, stream);

  const int64_t blocks = ceil_div<int64_t>(dy.rows, kRowsPerBlock);
  const auto partial = matrix(static_cast<float*>(workspace.data), blocks, dy.cols);
  RONDO_RETURN_IF_ERROR(launch_column_sums(partial.data, dy, kRowsPerBlock, 0.0f, stream));
  return launch_column_sums(db.data, partial, blocks, beta, stream);
}

}  // namespace rondo
