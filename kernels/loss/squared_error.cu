// Each block processes kElementsPerBlock contiguous elements and writes the sum of their squared errors. A
// last block adds these sums, in order, to loss_stats.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/loss/squared_error.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/slots.cuh>
#include <rondo/kernels/core/values.cuh>

#include <cub/block/block_reduce.cuh>

namespace rondo {
namespace {

constexpr int kThreads = 128;
constexpr int64_t kElementsPerBlock = 16 * kThreads;

using Reduce = cub::BlockReduce<double, kThreads>;
struct Shared {
  Reduce::TempStorage sums;
};

// The elements that a thread adds together: the order of the additions does not depend on the alignment.
constexpr int kPack = 8;

// `packed`: all arrays begin at a multiple of 16 bytes.
template <class T>
__global__ void __launch_bounds__(kThreads)
    squared_error_kernel(T* gradient, double* partial, const T* prediction, const float* target, int64_t size,
                         float scale, bool packed) {
  double sum = 0;
  // Adds an element, and returns its gradient.
  const auto add = [&](float value, float wanted) {
    const float error = value - wanted;
    sum = fma(static_cast<double>(error), static_cast<double>(error), sum);
    return 2 * error * scale;
  };
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kElementsPerBlock;
#pragma unroll
  for (int i = 0; i < kElementsPerBlock / (kThreads * kPack); ++i) {
    const int64_t begin = first + (i * kThreads + static_cast<int>(threadIdx.x)) * kPack;
    const auto pack = [&] {
      auto values = load_values<kPack>(prediction + begin);
      const auto targets = load_values<kPack>(target + begin);
#pragma unroll
      for (int k = 0; k < kPack; ++k) values.v[k] = add(values.v[k], targets.v[k]);
      if (gradient) store_values<kPack>(gradient + begin, values);
    };
    slots::visit<kPack>(begin, size, packed, pack, [&](int64_t at) {
      const float value = add(static_cast<float>(prediction[at]), target[at]);
      if (gradient) gradient[at] = static_cast<T>(value);
    });
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

template <class T>
Status launch_squared_error(MatrixView<T> gradient, LossStats* loss_stats, MatrixView<const T> prediction,
                            MatrixView<const float> target, float scale, Workspace workspace,
                            cudaStream_t stream) {
  constexpr const char* kName = "squared_error";
  ArgumentCheck check(kName);
  check.optional_output("gradient", gradient, {"prediction"});
  check.output_value("loss_stats", loss_stats);
  check.input("prediction", prediction);
  check.input("target", target);
  check.same_shape("target", target, "prediction", prediction);
  const auto check_packed = [&](const char* name, const auto& view) {
    const MatrixView<const float> shape = {nullptr, view.rows, view.cols, view.stride};
    check.packed(name, shape);
  };
  check_packed("prediction", prediction);
  check_packed("target", target);
  if (gradient.data) {
    check.same_shape("gradient", gradient, "prediction", prediction);
    check_packed("gradient", gradient);
  }
  check.workspace(workspace, squared_error_workspace_bytes(prediction.rows, prediction.cols));
  RONDO_RETURN_IF_ERROR(check.status());
  const int64_t size = prediction.rows * prediction.cols;
  if (prediction.rows == 0) return {};
  const bool packed = pack_width<kPack>(kPack, gradient.data, prediction.data) == kPack &&
                      pack_width<kPack>(kPack, target.data) == kPack;
  auto* partial = static_cast<double*>(workspace.data);
  LaunchShape shape;
  shape.block_x = kThreads;
  shape.grid_x = blocks_for(size);
  shape.shared_bytes = sizeof(Shared);
  RONDO_RETURN_IF_ERROR(launch(kName, shape, stream, squared_error_kernel<T>, gradient.data, partial,
                               prediction.data, target.data, size, scale, packed));
  const int64_t blocks = shape.grid_x;
  shape.grid_x = 1;
  return launch(kName, shape, stream, add_loss_stats_kernel, loss_stats, partial, blocks, prediction.rows);
}

}  // namespace

int64_t squared_error_workspace_bytes(int64_t rows, int64_t cols) {
  if (rows < 0 || cols < 0) return 0;
  const int64_t size = saturating_product({rows, cols});
  return size == INT64_MAX ? size : saturating_product({blocks_for(size), sizeof(double)});
}

template <InputType T>
Status squared_error(NonDeduced<MatrixView<std::remove_const_t<T>>> gradient, LossStats* loss_stats,
                     MatrixView<T> prediction, MatrixView<const float> target, float scale,
                     Workspace workspace, cudaStream_t stream) {
  return launch_squared_error<std::remove_const_t<T>>(gradient, loss_stats, prediction, target, scale,
                                                      workspace, stream);
}

#define RONDO_SQUARED_ERROR(T)                                                                    \
  template Status squared_error<T>(MatrixView<std::remove_const_t<T>>, LossStats*, MatrixView<T>, \
                                   MatrixView<const float>, float, Workspace, cudaStream_t);
RONDO_FOR_INPUT_TYPES(RONDO_SQUARED_ERROR)

}  // namespace rondo
