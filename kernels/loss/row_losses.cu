#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/loss/row_losses.cuh>

#include <cub/block/block_reduce.cuh>

namespace rondo::losses {
namespace {

constexpr int kThreads = 256;
using Reduce = cub::BlockReduce<double, kThreads>;
struct Shared {
  Reduce::TempStorage sums;
};

__global__ void __launch_bounds__(kThreads)
    add_weights_kernel(double* divisor, const int32_t* labels, const float* weights, int64_t rows,
                       int64_t classes, int ignored) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < rows; i += kThreads) {
    const int label = labels[i];
    if (label >= 0 && label < classes && label != ignored) sum += weights ? weights[label] : 1.0f;
  }
  sum = Reduce(shared_memory<Shared>().sums).Sum(sum);
  if (threadIdx.x == 0) *divisor = sum;
}

__global__ void store_divisor_kernel(double* divisor, double value) { *divisor = value; }

__global__ void __launch_bounds__(kThreads)
    add_losses_kernel(float* loss, const float* losses, const double* divisor, int64_t rows) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < rows; i += kThreads) sum += losses[i];
  sum = Reduce(shared_memory<Shared>().sums).Sum(sum);
  if (threadIdx.x == 0) *loss = static_cast<float>(divisor ? sum / *divisor : sum);
}

LaunchShape one_block() { return {.block_x = kThreads, .shared_bytes = sizeof(Shared)}; }

}  // namespace

Status store_divisor(const char* name, double* divisor, double value, cudaStream_t stream) {
  return launch(name, LaunchShape(), stream, store_divisor_kernel, divisor, value);
}

Status add_weights(const char* name, double* divisor, VectorView<const int32_t> labels, const float* weights,
                   int64_t classes, int32_t ignored, cudaStream_t stream) {
  return launch(name, one_block(), stream, add_weights_kernel, divisor, labels.data, weights, labels.size,
                classes, ignored);
}

Status add_losses(const char* name, float* loss, const float* losses, const double* divisor, int64_t rows,
                  cudaStream_t stream) {
  return launch(name, one_block(), stream, add_losses_kernel, loss, losses, divisor, rows);
}

}  // namespace rondo::losses
