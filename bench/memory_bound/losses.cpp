// Losses and softmax.

#include <rondo/bench/memory_bound/memory_bound.h>
#include <rondo/kernels/loss/binary_cross_entropy.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/loss/weighted_cross_entropy.h>
#include <rondo/kernels/random/random.h>
#include <rondo/kernels/softmax/softmax.h>

#include <algorithm>
#include <cmath>

namespace rondo::bench {
namespace {

void cross_entropy_of(benchmark::State& state, int64_t rows, int64_t classes) {
  Buffer<float> logits = normal_buffer(rows * classes, 1), gradient(rows * classes);
  std::vector<int32_t> label_values(static_cast<size_t>(rows));
  for (size_t i = 0; i < label_values.size(); ++i)
    label_values[i] = static_cast<int32_t>(i % static_cast<size_t>(classes));
  Buffer<int32_t> labels(label_values);
  Buffer<LossStats> loss_stats(std::vector<LossStats>(1));
  Buffer<unsigned char> workspace(softmax_cross_entropy_workspace_bytes(rows, classes));
  const std::vector<float> host = logits.download();
  double sum = 0;
  std::vector<double> expected;
  for (size_t j = 0; j < static_cast<size_t>(classes); ++j) sum += std::exp(host[j]);
  for (size_t j = 0; j < static_cast<size_t>(classes); ++j)
    expected.push_back(std::exp(host[j]) / sum - (j == 0));
  time_checked(
      state, kFloat * static_cast<double>(2 * rows * classes + rows),
      [&](cudaStream_t stream) {
        return softmax_cross_entropy(matrix(gradient.data(), rows, classes), loss_stats.data(),
                                     matrix(logits.data(), rows, classes), {labels.data(), rows}, 1,
                                     {workspace.data(), workspace.bytes()}, stream);
      },
      gradient, expected);
}
BENCHMARK_CAPTURE(cross_entropy_of, lenet, 256, 10)->UseManualTime();
BENCHMARK_CAPTURE(cross_entropy_of, large / 10_classes, 1 << 20, 10)->UseManualTime();
BENCHMARK_CAPTURE(cross_entropy_of, large / 1000_classes, 1 << 15, 1000)->UseManualTime();

void weighted_cross_entropy_of(benchmark::State& state, int64_t rows, int64_t classes) {
  Buffer<float> logits = normal_buffer(rows * classes, 1), gradient(rows * classes), loss(1);
  std::vector<int32_t> label_values(static_cast<size_t>(rows));
  for (size_t i = 0; i < label_values.size(); ++i)
    label_values[i] = static_cast<int32_t>(i % static_cast<size_t>(classes));
  const Buffer<int32_t> labels(label_values);
  Buffer<unsigned char> workspace(cross_entropy_workspace_bytes(rows, classes));
  const std::vector<float> host = logits.download();
  double sum = 0;
  for (size_t j = 0; j < static_cast<size_t>(classes); ++j) sum += std::exp(host[j]);
  std::vector<double> expected;
  for (size_t j = 0; j < kChecked; ++j)
    expected.push_back((std::exp(host[j]) / sum - 0.9 * (j == 0) - 0.1 / static_cast<double>(classes)));
  time_checked(
      state, 2 * kFloat * static_cast<double>(rows * classes),
      [&](cudaStream_t stream) {
        return cross_entropy(matrix(gradient.data(), rows, classes), loss.data(), {},
                             matrix<const float>(logits.data(), rows, classes), {labels.data(), rows},
                             {.label_smoothing = 0.1f, .reduction = LossReduction::sum},
                             {workspace.data(), workspace.bytes()}, stream);
      },
      gradient, expected);
}
BENCHMARK_CAPTURE(weighted_cross_entropy_of, smoothed / 1000_classes, 1 << 15, 1000)->UseManualTime();
BENCHMARK_CAPTURE(weighted_cross_entropy_of, smoothed / 32000_classes, 1 << 10, 32000)->UseManualTime();
BENCHMARK_CAPTURE(weighted_cross_entropy_of, smoothed / 128256_classes, 256, 128256)->UseManualTime();

void binary_cross_entropy_of(benchmark::State& state, int64_t rows, int64_t cols) {
  Buffer<float> logits = normal_buffer(rows * cols, 1), targets(rows * cols), gradient(rows * cols), loss(1);
  run_once([&](cudaStream_t s) { return fill_uniform({targets.data(), targets.size()}, 0, 1, {}, s); });
  Buffer<unsigned char> workspace(binary_cross_entropy_workspace_bytes(rows, cols));
  const std::vector<float> z = logits.download(), t = targets.download();
  std::vector<double> expected;
  for (size_t j = 0; j < kChecked; ++j) expected.push_back(1 / (1 + std::exp(-double{z[j]})) - t[j]);
  time_checked(
      state, 3 * kFloat * static_cast<double>(rows * cols),
      [&](cudaStream_t stream) {
        return binary_cross_entropy(
            matrix(gradient.data(), rows, cols), loss.data(), {},
            matrix<const float>(logits.data(), rows, cols), matrix<const float>(targets.data(), rows, cols),
            {.reduction = LossReduction::sum}, {workspace.data(), workspace.bytes()}, stream);
      },
      gradient, expected);
}
BENCHMARK_CAPTURE(binary_cross_entropy_of, 1000_columns, 1 << 15, 1000)->UseManualTime();

void softmax_of(benchmark::State& state, bool log, int64_t rows, int64_t cols) {
  Buffer<float> x = normal_buffer(rows * cols, 1), y(rows * cols);
  Buffer<unsigned char> workspace(softmax_workspace_bytes(rows, cols));
  const std::vector<float> host = x.download();
  double sum = 0;
  for (size_t j = 0; j < static_cast<size_t>(cols); ++j) sum += std::exp(host[j]);
  std::vector<double> expected;
  for (size_t j = 0; j < std::min(kChecked, static_cast<size_t>(cols)); ++j)
    expected.push_back(log ? host[j] - std::log(sum) : std::exp(host[j]) / sum);
  time_checked(
      state, 2 * kFloat * static_cast<double>(rows * cols),
      [&](cudaStream_t stream) {
        const MatrixView<float> to = matrix(y.data(), rows, cols), from = matrix(x.data(), rows, cols);
        const Workspace scratch = {workspace.data(), workspace.bytes()};
        return log ? log_softmax(to, from, scratch, stream) : softmax(to, from, scratch, stream);
      },
      y, expected);
}
BENCHMARK_CAPTURE(softmax_of, plain / 10_columns, false, 1 << 20, 10)->UseManualTime();
BENCHMARK_CAPTURE(softmax_of, plain / 1000_columns, false, 1 << 15, 1000)->UseManualTime();
BENCHMARK_CAPTURE(softmax_of, plain / 4096_columns, false, 1 << 13, 4096)->UseManualTime();
BENCHMARK_CAPTURE(softmax_of, logarithm / 32000_columns, true, 1 << 10, 32000)->UseManualTime();
BENCHMARK_CAPTURE(softmax_of, logarithm / 128256_columns, true, 256, 128256)->UseManualTime();

void softmax_backward_of(benchmark::State& state, int64_t rows, int64_t cols) {
  Buffer<float> dy = normal_buffer(rows * cols, 1), y = normal_buffer(rows * cols, 2), dx(rows * cols);
  Buffer<unsigned char> workspace(softmax_workspace_bytes(rows, cols));
  const std::vector<float> dy_host = dy.download(), y_host = y.download();
  double sum = 0;
  for (size_t j = 0; j < static_cast<size_t>(cols); ++j) sum += double{dy_host[j]} * y_host[j];
  std::vector<double> expected;
  for (size_t j = 0; j < kChecked; ++j) expected.push_back(y_host[j] * (dy_host[j] - sum));
  time_checked(
      state, 3 * kFloat * static_cast<double>(rows * cols),
      [&](cudaStream_t stream) {
        return softmax_backward(matrix(dx.data(), rows, cols), matrix<const float>(dy.data(), rows, cols),
                                matrix<const float>(y.data(), rows, cols),
                                {workspace.data(), workspace.bytes()}, stream);
      },
      dx, expected);
}
BENCHMARK_CAPTURE(softmax_backward_of, 1000_columns, 1 << 15, 1000)->UseManualTime();
BENCHMARK_CAPTURE(softmax_backward_of, 32000_columns, 1 << 10, 32000)->UseManualTime();

}  // namespace
}  // namespace rondo::bench
