// A block transposes a square of a matrix in shared memory, so that the loads and the stores both have
// adjacent addresses in adjacent lanes.
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/size.h>
#include <rondo/kernels/gemm/transposed_copy.h>

namespace rondo {
namespace {

constexpr int kSide = 32, kRowsAtOnce = 8;

struct TransposeShared {
  float square[kSide][kSide + 1];  // an odd row length: the lanes that read a column have different banks
};

__global__ __launch_bounds__(kSide* kRowsAtOnce) void copy_transposed_kernel(TransposedCopy p,
                                                                             int64_t row_squares,
                                                                             int64_t col_squares) {
  auto& shared = shared_memory<TransposeShared>();
  const int64_t square = blockIdx.x % (row_squares * col_squares),
                batch = blockIdx.x / (row_squares * col_squares);
  const int64_t i0 = square / col_squares * kSide, j0 = square % col_squares * kSide;
  const int lane = static_cast<int>(threadIdx.x) % kSide, first = static_cast<int>(threadIdx.x) / kSide;
  const float* const from = p.from + batch * p.from_batch;
  float* const to = p.to + batch * p.to_batch;
  for (int i = first; i < kSide && i0 + i < p.rows; i += kRowsAtOnce)
    if (j0 + lane < p.cols) shared.square[i][lane] = from[(i0 + i) * p.from_stride + j0 + lane];
  __syncthreads();
  for (int j = first; j < kSide && j0 + j < p.cols; j += kRowsAtOnce)
    if (i0 + lane < p.rows) to[(j0 + j) * p.to_stride + i0 + lane] = shared.square[lane][j];
}

}  // namespace

Status copy_transposed(const char* name, const TransposedCopy& copy, cudaStream_t stream) {
  const int64_t row_squares = ceil_div<int64_t>(copy.rows, kSide),
                col_squares = ceil_div<int64_t>(copy.cols, kSide);
  return launch(name,
                {.grid_x = saturating_product({row_squares, col_squares, copy.batch}),
                 .block_x = kSide * kRowsAtOnce,
                 .shared_bytes = sizeof(TransposeShared)},
                stream, copy_transposed_kernel, copy, row_squares, col_squares);
}

}  // namespace rondo
