// The memory-bound operators, compared with the copy bandwidth of the same run: each input is read once, each
// output written once. LeNet's sizes (batch 256) fit in a GPU's L2 cache and are mostly latency; the other
// sizes do not fit. bench_pooling.cpp has pooling.

#include <rondo/bench/memory_bound/checked.h>
#include <rondo/kernels/activation/add_bias.h>
#include <rondo/kernels/activation/gelu.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/data/augmented_batch.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/data/image_draw.h>
#include <rondo/kernels/layout/transpose.h>
#include <rondo/kernels/loss/binary_cross_entropy.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/loss/weighted_cross_entropy.h>
#include <rondo/kernels/norm/group_norm.h>
#include <rondo/kernels/norm/layer_norm.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/kernels/random/random.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/softmax/softmax.h>

#include <algorithm>
#include <cmath>

namespace rondo::bench {
namespace {

constexpr size_t kChecked = 100;  // number of elements that an elementwise check compares

void relu_backward_of(benchmark::State& state, int64_t size) {
  Buffer<float> dy = normal_buffer(size, 1), y = normal_buffer(size, 2), dx(size);
  const std::vector<float> dy_host = dy.download(), y_host = y.download();
  std::vector<double> expected;
  for (size_t i = 0; i < kChecked; ++i) expected.push_back(y_host[i] > 0 ? dy_host[i] : 0);
  time_checked(
      state, 3 * kFloat * static_cast<double>(size),
      [&](cudaStream_t stream) {
        return relu_backward({dx.data(), size}, {dy.data(), size}, {y.data(), size}, stream);
      },
      dx, expected);
}
BENCHMARK_CAPTURE(relu_backward_of, lenet, 256 * 26 * 26 * 20)->UseManualTime();
BENCHMARK_CAPTURE(relu_backward_of, large, 32 << 20)->UseManualTime();

void sgd_of(benchmark::State& state, int64_t size) {
  Buffer<float> parameters = normal_buffer(size, 1), gradient = normal_buffer(size, 2);
  const std::vector<float> p = parameters.download(), g = gradient.download();
  const float rate = 1e-6f;
  const Buffer<float> learning_rate(std::vector<float>{rate});
  std::vector<double> expected;
  for (size_t i = 0; i < kChecked; ++i) expected.push_back(p[i] - rate * g[i]);
  time_checked(
      state, 3 * kFloat * static_cast<double>(size),
      [&](cudaStream_t stream) {
        return sgd_update({parameters.data(), size}, {}, {gradient.data(), size}, learning_rate.data(), {},
                          stream);
      },
      parameters, expected);
}
BENCHMARK_CAPTURE(sgd_of, lenet, 129'068)->UseManualTime();
BENCHMARK_CAPTURE(sgd_of, large, 32 << 20)->UseManualTime();

template <class T>
void nchw_to_nhwc_of(benchmark::State& state, T, Images images) {
  const int64_t pixels = images.side * images.side;
  const Buffer<float> values = normal_buffer(images.size(), 1);
  std::vector<T> host;
  for (const float value : values.download()) host.push_back(T(value));
  const Buffer<T> x(host);
  Buffer<T> y(images.size());
  const auto work = [&](cudaStream_t stream) {
    return nchw_to_nhwc<T>(images.view(y.data()), {x.data(), images.size()}, stream);
  };
  run_once(work);
  const std::vector<T> found = y.download();
  for (int64_t pixel = 0; pixel < pixels; ++pixel)
    for (int64_t c = 0; c < images.channels; ++c)
      if (static_cast<float>(found[static_cast<size_t>(pixel * images.channels + c)]) !=
          static_cast<float>(host[static_cast<size_t>(c * pixels + pixel)]))
        return state.SkipWithError("the result is wrong");
  time_device_work(state, Cache::hot, {.bytes = 2.0 * sizeof(T) * static_cast<double>(images.size())}, work);
}
BENCHMARK_CAPTURE(nchw_to_nhwc_of, large, float{}, kLarge)->UseManualTime();
BENCHMARK_CAPTURE(nchw_to_nhwc_of, large_bfloat16, __nv_bfloat16{}, kLarge)->UseManualTime();

void bias_gradient_of(benchmark::State& state, int64_t rows, int64_t cols) {
  Buffer<float> dy = normal_buffer(rows * cols, 1), db(cols);
  Buffer<unsigned char> workspace(bias_gradient_workspace_bytes(rows, cols));
  const std::vector<float> host = dy.download();
  std::vector<double> expected(static_cast<size_t>(cols));
  for (size_t i = 0; i < host.size(); ++i) expected[i % static_cast<size_t>(cols)] += host[i];
  time_checked(
      state, kFloat * static_cast<double>(rows * cols + cols),
      [&](cudaStream_t stream) {
        return bias_gradient({db.data(), cols}, {dy.data(), rows, cols, cols}, 0,
                             {workspace.data(), workspace.bytes()}, stream);
      },
      db, expected);
}
BENCHMARK_CAPTURE(bias_gradient_of, lenet_conv1, 256 * 26 * 26, 20)->UseManualTime();
BENCHMARK_CAPTURE(bias_gradient_of, lenet_conv2, 256 * 8 * 8, 50)->UseManualTime();
BENCHMARK_CAPTURE(bias_gradient_of, lenet_linear1, 256, 128)->UseManualTime();
BENCHMARK_CAPTURE(bias_gradient_of, large, 1 << 18, 512)->UseManualTime();

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

// An activation of `size` elements, and its gradient.
void gelu_of(benchmark::State& state, int64_t size) {
  Buffer<float> x = normal_buffer(size, 1), y(size);
  std::vector<double> expected;
  const std::vector<float> x_host = x.download();
  for (size_t i = 0; i < kChecked; ++i)
    expected.push_back(double{x_host[i]} * 0.5 * std::erfc(-double{x_host[i]} / std::sqrt(2.0)));
  time_checked(
      state, 2 * kFloat * static_cast<double>(size),
      [&](cudaStream_t stream) {
        return gelu({y.data(), size}, {x.data(), size}, stream);
      },
      y, expected);
}
BENCHMARK_CAPTURE(gelu_of, large, 32 << 20)->UseManualTime();

void gelu_backward_of(benchmark::State& state, int64_t size) {
  Buffer<float> dy = normal_buffer(size, 1), x = normal_buffer(size, 2), dx(size);
  std::vector<double> expected;
  const std::vector<float> dy_host = dy.download(), x_host = x.download();
  for (size_t i = 0; i < kChecked; ++i) {
    const double value = x_host[i];
    expected.push_back(dy_host[i] * (0.5 * std::erfc(-value / std::sqrt(2.0)) +
                                     value * std::exp(-value * value / 2) / std::sqrt(2 * std::acos(-1.0))));
  }
  time_checked(
      state, 3 * kFloat * static_cast<double>(size),
      [&](cudaStream_t stream) {
        return gelu_backward({dx.data(), size}, {dy.data(), size}, {x.data(), size}, stream);
      },
      dx, expected);
}
BENCHMARK_CAPTURE(gelu_backward_of, large, 32 << 20)->UseManualTime();

void add_bias_of(benchmark::State& state, int64_t rows, int64_t cols) {
  Buffer<float> x = normal_buffer(rows * cols, 1), bias = normal_buffer(cols, 2), y(rows * cols);
  std::vector<double> expected;
  const std::vector<float> x_host = x.download(), bias_host = bias.download();
  for (size_t i = 0; i < kChecked; ++i) expected.push_back(double{x_host[i]} + bias_host[i]);
  time_checked(
      state, 2 * kFloat * static_cast<double>(rows * cols),
      [&](cudaStream_t stream) {
        return add_bias(matrix(y.data(), rows, cols), matrix<const float>(x.data(), rows, cols),
                        {bias.data(), cols}, stream);
      },
      y, expected);
}
BENCHMARK_CAPTURE(add_bias_of, positions, 1 << 13, 49 * 64)->UseManualTime();

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

// A data set like Fashion-MNIST, in a random order. `augmented`: with crop, flip and erasing.
void gather_batch_of(benchmark::State& state, int64_t batch, bool augmented) {
  constexpr int64_t kSamples = 60'000, kSide = 28;
  const Augmentation augmentation = {.padding = 4, .flip = 0.5f, .erase = 0.5f};
  std::vector<uint8_t> bytes(static_cast<size_t>(kSamples * kSide * kSide));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 2654435761u >> 24);
  Buffer<uint8_t> images(bytes), image_labels(std::vector<uint8_t>(kSamples, 3));
  Buffer<int32_t> order(kSamples), labels(batch);
  Buffer<int64_t> epoch(std::vector<int64_t>{0});
  Buffer<float> x(batch * kSide * kSide), scale(std::vector<float>{1 / 255.0f}), shift(std::vector<float>{0});
  run_once([&](cudaStream_t s) { return shuffle({order.data(), kSamples}, 1, epoch.data(), s); });
  const int64_t first = order.download()[0];
  const ImageDraw draw = augmented ? ImageDraws(augmentation, kSide, kSide, 1)(first, 0) : ImageDraw();
  std::vector<double> expected;
  for (int32_t i = 0; i < static_cast<int32_t>(kChecked); ++i) {
    const int32_t row = i / kSide, column = i % kSide;
    const int32_t from_row = draw.top + row,
                  from_column = draw.left + (draw.flip ? kSide - 1 - column : column);
    const bool inside = from_row >= 0 && from_row < kSide && from_column >= 0 && from_column < kSide;
    expected.push_back(!inside || draw.erases(row, column)
                           ? 0
                           : bytes[static_cast<size_t>((first * kSide + from_row) * kSide + from_column)] /
                                 255.0);
  }
  const ImageView<float> to = {x.data(), batch, kSide, kSide, 1};
  const ImageView<const uint8_t> from = {images.data(), kSamples, kSide, kSide, 1};
  const BatchPosition position = {epoch.data(), batch, 0};
  time_checked(
      state, (1 + kFloat) * static_cast<double>(x.size()),
      [&](cudaStream_t s) {
        if (augmented)
          return gather_augmented_batch(to, {labels.data(), batch}, from, {image_labels.data(), kSamples},
                                        {order.data(), kSamples}, position, {scale.data(), 1},
                                        {shift.data(), 1}, augmentation, {1, epoch.data()}, s);
        return gather_batch(to, {labels.data(), batch}, from, {image_labels.data(), kSamples},
                            {order.data(), kSamples}, position, 1 / 255.0f, 0, s);
      },
      x, expected);
}
BENCHMARK_CAPTURE(gather_batch_of, lenet, 256, false)->UseManualTime();
BENCHMARK_CAPTURE(gather_batch_of, large, 60'000, false)->UseManualTime();
BENCHMARK_CAPTURE(gather_batch_of, lenet / augmented, 256, true)->UseManualTime();
BENCHMARK_CAPTURE(gather_batch_of, large / augmented, 60'000, true)->UseManualTime();

void shuffle_of(benchmark::State& state, int64_t size) {
  Buffer<int32_t> order(size);
  Buffer<int64_t> epoch(std::vector<int64_t>{0});
  const auto work = [&](cudaStream_t stream) {
    return shuffle({order.data(), size}, 1, epoch.data(), stream);
  };
  run_once(work);
  std::vector<int32_t> found = order.download();
  std::sort(found.begin(), found.end());
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i] != static_cast<int32_t>(i)) return state.SkipWithError("not a permutation");
  time_device_work(state, Cache::hot, {.bytes = kFloat * static_cast<double>(size)}, work);
}
BENCHMARK_CAPTURE(shuffle_of, lenet, 60'000)->UseManualTime();

void fill_normal_of(benchmark::State& state, int64_t size) {
  Buffer<float> x(size);
  const auto work = [&](cudaStream_t stream) { return fill_normal({x.data(), size}, 0, 1, {}, stream); };
  run_once(work);
  double squares = 0;
  for (const float value : x.download()) squares += static_cast<double>(value) * value;
  if (!(std::abs(squares / static_cast<double>(size) - 1) < 0.05))
    return state.SkipWithError("the variance is not 1");
  time_device_work(state, Cache::hot, {.bytes = kFloat * static_cast<double>(size)}, work);
}
BENCHMARK_CAPTURE(fill_normal_of, lenet, 129'068)->UseManualTime();
BENCHMARK_CAPTURE(fill_normal_of, large, 32 << 20)->UseManualTime();

}  // namespace
}  // namespace rondo::bench
