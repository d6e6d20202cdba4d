// Neighbouring threads copy neighbouring elements of a row and continue in the next row. For any number of
// columns, no thread is idle and neighbouring threads share cache lines. A matrix may have as few as one
// column, so wider loads would not help.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/data/columns.h>
#include <rondo/kernels/core/launch.cuh>

namespace rondo {
namespace {

constexpr int kThreads = 256;
constexpr int kElementsPerThread = 8;

__global__ void __launch_bounds__(kThreads)
    copy_columns_kernel(MatrixView<float> to, MatrixView<const float> from) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (kThreads * kElementsPerThread) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < kElementsPerThread; ++k) {
    const int64_t i = first + k * kThreads;
    if (i >= to.rows * to.cols) return;
    const int64_t row = i / to.cols, col = i % to.cols;
    to.data[row * to.stride + col] = from.data[row * from.stride + col];
  }
}

}  // namespace

Status copy_columns(MatrixView<float> to, MatrixView<const float> from, cudaStream_t stream) {
  ArgumentCheck check("copy_columns");
  check.output("to", to);
  check.input("from", from);
  check.same_shape("from", from, "to", to);
  RONDO_RETURN_IF_ERROR(check.status());
  return launch("copy_columns", flat_shape(to.rows * to.cols, kThreads, kElementsPerThread), stream,
                copy_columns_kernel, to, from);
}

}  // namespace rondo
