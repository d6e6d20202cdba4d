// Each block processes kElementsPerBlock contiguous elements and writes the sum of their squared errors. A
// last block adds these sums, in order, to loss_stats.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/loss/squared_error.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>

#include <cub/cub.cuh>

namespace rondo {
namespace {

constexpr int kThreads = 128;
constexpr int64_t kElementsPerBlock = 16 * kThreads;

using Reduce = cub::BlockReduce<double, kThreads>;
struct Shared {
  Reduce::TempStorage sums;
};

__global__ void __launch_bounds__(kThreads)
    squared_error_kernel(float* gradient, double* partial, const float* prediction, const float* target,
                         int64_t size, float scale) {
  double sum = 0;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kElementsPerBlock;
  const int64_t end = min(begin + kElementsPerBlock, size);
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    const float error = prediction[i] - target[i];
    sum = fma(static_cast<double>(error), static_cast<double>(error), sum);
    if (gradient) gradient[i] = 2 * error * scale;
  }
  sum = Reduce(shared_memory<Shared>().sums).Sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    add_loss_stats_kernel(LossStats* loss_stats, const double* partial, int64_t blocks, int64_t rows) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < blocks; i += kThreads) sum += partial[i];
  sum = Reduce(shared_memory<Shared>().sums).Sum(sum);
  if (threadIdx.x != 0) return;
  loss_stats->loss += sum;
  loss_stats->rows += rows;
}

int64_t blocks_for(int64_t size) { return ceil_div(size, kElementsPerBlock); }

}  // namespace

int64_t squared_error_workspace_bytes(int64_t rows, int64_t cols) {
  if (rows < 0 || cols < 0) return 0;
  return saturating_product({blocks_for(saturating_product({rows, cols})), sizeof(double)});
}

Status squared_error(MatrixView<float> gradient, LossStats* loss_stats, MatrixView<const float> prediction,
                     MatrixView<const float> target, float scale, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "squared_error";
  ArgumentCheck check(kName);
  check.optional_output("gradient", gradient, {"prediction"});
  check.output_value("loss_stats", loss_stats);
  check.input("prediction", prediction);
  check.input("target", target);
  check.same_shape("target", target, "prediction", prediction);
  check.packed("prediction", prediction);
  check.packed("target", target);
  if (gradient.data) {
    check.same_shape("gradient", gradient, "prediction", prediction);
    check.packed("gradient", gradient);
  }
  check.workspace(workspace, squared_error_workspace_bytes(prediction.rows, prediction.cols));
  RONDO_RETURN_IF_ERROR(check.status());
  const int64_t size = prediction.rows * prediction.cols;
  if (prediction.rows == 0) return {};
  auto* partial = static_cast<double*>(workspace.data);
  LaunchShape shape;
  shape.block_x = kThreads;
  shape.grid_x = blocks_for(size);
  shape.shared_bytes = sizeof(Shared);
  RONDO_RETURN_IF_ERROR(launch(kName, shape, stream, squared_error_kernel, gradient.data, partial,
                               prediction.data, target.data, size, scale));
  const int64_t blocks = shape.grid_x;
  shape.grid_x = 1;
  return launch(kName, shape, stream, add_loss_stats_kernel, loss_stats, partial, blocks, prediction.rows);
}

}  // namespace rondo
