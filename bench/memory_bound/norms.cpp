// Normalisation.

#include <rondo/bench/memory_bound/memory_bound.h>
#include <rondo/kernels/norm/group_norm.h>
#include <rondo/kernels/norm/layer_norm.h>

#include <cmath>
#include <utility>

namespace rondo::bench {
namespace {

// Mean and 1 / standard deviation.
std::pair<double, double> moments_of(std::vector<float>::const_iterator begin, int64_t size) {
  double mean = 0, squares = 0;
  for (auto it = begin; it != begin + size; ++it) mean += *it / static_cast<double>(size);
  for (auto it = begin; it != begin + size; ++it)
    squares += (*it - mean) * (*it - mean) / static_cast<double>(size);
  return {mean, 1 / std::sqrt(squares + 1e-5)};
}

void layer_norm_of(benchmark::State& state, bool rms, int64_t rows, int64_t cols) {
  Buffer<float> x = normal_buffer(rows * cols, 1), y(rows * cols), mean(rows), inv_std(rows),
                gamma = normal_buffer(cols, 2);
  Buffer<unsigned char> workspace(layer_norm_workspace_bytes(rows, cols));
  const std::vector<float> host = x.download(), scale = gamma.download();
  auto [centre, inverse] = moments_of(host.begin(), cols);
  if (rms) inverse = 1 / std::sqrt(1 / (inverse * inverse) + centre * centre), centre = 0;
  std::vector<double> expected;
  for (size_t j = 0; j < kChecked; ++j) expected.push_back((host[j] - centre) * inverse * scale[j]);
  time_checked(
      state, 2 * kFloat * static_cast<double>(rows * cols),
      [&](cudaStream_t stream) {
        const MatrixView<float> to = matrix(y.data(), rows, cols), from = matrix(x.data(), rows, cols);
        const Workspace scratch = {workspace.data(), workspace.bytes()};
        return rms ? rms_norm(to, {inv_std.data(), rows}, from, {gamma.data(), cols}, 1e-5f, scratch, stream)
                   : layer_norm(to, {mean.data(), rows}, {inv_std.data(), rows}, from, {gamma.data(), cols},
                                {}, 1e-5f, scratch, stream);
      },
      y, expected);
}
BENCHMARK_CAPTURE(layer_norm_of, layer / 768_columns, false, 1 << 15, 768)->UseManualTime();
BENCHMARK_CAPTURE(layer_norm_of, layer / 8192_columns, false, 1 << 12, 8192)->UseManualTime();
BENCHMARK_CAPTURE(layer_norm_of, rms / 4096_columns, true, 1 << 13, 4096)->UseManualTime();

// dy and x are read for the gradients of gamma and beta, and again for dx.
void layer_norm_backward_of(benchmark::State& state, int64_t rows, int64_t cols) {
  Buffer<float> x = normal_buffer(rows * cols, 1), dy = normal_buffer(rows * cols, 2), dx(rows * cols),
                mean(std::vector<float>(static_cast<size_t>(rows), 0)),
                inv_std(std::vector<float>(static_cast<size_t>(rows), 1)), dgamma(cols), dbeta(cols);
  Buffer<unsigned char> workspace(layer_norm_backward_workspace_bytes(rows, cols));
  const std::vector<float> x_host = x.download(), dy_host = dy.download();
  std::vector<double> expected(static_cast<size_t>(cols));
  for (size_t i = 0; i < x_host.size(); ++i)
    expected[i % static_cast<size_t>(cols)] += double{x_host[i]} * dy_host[i];
  time_checked(
      state, 5 * kFloat * static_cast<double>(rows * cols),
      [&](cudaStream_t stream) {
        return layer_norm_backward(
            matrix(dx.data(), rows, cols), {dgamma.data(), cols}, {dbeta.data(), cols},
            matrix<const float>(dy.data(), rows, cols),
            {matrix<const float>(x.data(), rows, cols), {mean.data(), rows}, {inv_std.data(), rows}}, {},
            {workspace.data(), workspace.bytes()}, stream);
      },
      dgamma, expected);
}
BENCHMARK_CAPTURE(layer_norm_backward_of, 768_columns, 1 << 15, 768)->UseManualTime();
BENCHMARK_CAPTURE(layer_norm_backward_of, 4096_columns, 1 << 13, 4096)->UseManualTime();

// x is read for the statistics, and again for y.
void group_norm_of(benchmark::State& state, Images in, int64_t groups) {
  Buffer<float> x = normal_buffer(in.size(), 1), y(in.size()), mean(in.count * groups),
                inv_std(in.count * groups);
  Buffer<unsigned char> workspace(group_norm_workspace_bytes(in.count, in.side * in.side, in.channels));
  const std::vector<float> host = x.download();
  const int64_t per_group = in.channels / groups;
  std::vector<float> group;  // the first of the first image
  for (int64_t pixel = 0; pixel < in.side * in.side; ++pixel)
    for (int64_t c = 0; c < per_group; ++c)
      group.push_back(host[static_cast<size_t>(pixel * in.channels + c)]);
  const auto [centre, inverse] = moments_of(group.begin(), static_cast<int64_t>(group.size()));
  std::vector<double> expected;
  for (size_t c = 0; c < static_cast<size_t>(per_group); ++c)
    expected.push_back((host[c] - centre) * inverse);
  time_checked(
      state, 3 * kFloat * static_cast<double>(in.size()),
      [&](cudaStream_t stream) {
        return group_norm(in.view(y.data()), {mean.data(), in.count * groups},
                          {inv_std.data(), in.count * groups}, in.view(x.data()), {}, {}, groups, 1e-5f,
                          {workspace.data(), workspace.bytes()}, stream);
      },
      y, expected);
}
BENCHMARK_CAPTURE(group_norm_of, large / 32_groups, kLarge, 32)->UseManualTime();

}  // namespace
}  // namespace rondo::bench
