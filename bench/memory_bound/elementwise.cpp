// Operators on the elements of arrays and matrices: each input is read once, each output written once.

#include <rondo/bench/memory_bound/memory_bound.h>
#include <rondo/kernels/activation/add_bias.h>
#include <rondo/kernels/activation/gelu.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/elementwise/binary.h>
#include <rondo/kernels/elementwise/unary.h>
#include <rondo/kernels/optimizer/sgd.h>

#include <cmath>

namespace rondo::bench {
namespace {

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

// A matrix of `stride` columns of which `cols` are used, and a row, a column or a value for it.
enum class Other { matrix, row, column, value };

void binary_of(benchmark::State& state, Other kind, int64_t rows, int64_t cols, int64_t stride) {
  Buffer<float> a = normal_buffer(rows * stride, 1), b = normal_buffer(rows * stride, 2), y(rows * stride);
  const std::vector<float> a_host = a.download(), b_host = b.download();
  std::vector<double> expected;
  for (size_t j = 0; j < kChecked; ++j)
    expected.push_back(double{a_host[j]} - (kind == Other::value    ? 0.5
                                            : kind == Other::column ? b_host[0]
                                                                    : b_host[j]));
  const MatrixView<float> to = {y.data(), rows, cols, stride};
  const MatrixView<const float> from = {a.data(), rows, cols, stride},
                                other = {b.data(), kind == Other::row ? 1 : rows,
                                         kind == Other::column ? 1 : cols,
                                         kind == Other::column ? 1 : stride};
  const double others = kind == Other::matrix   ? static_cast<double>(rows * cols)
                        : kind == Other::row    ? static_cast<double>(cols)
                        : kind == Other::column ? static_cast<double>(rows)
                                                : 0;
  time_checked(
      state, kFloat * (2.0 * static_cast<double>(rows * cols) + others),
      [&](cudaStream_t stream) {
        return kind == Other::value ? binary(to, from, 0.5f, BinaryOperator::subtract, stream)
                                    : binary(to, from, other, BinaryOperator::subtract, stream);
      },
      y, expected);
}
BENCHMARK_CAPTURE(binary_of, lenet / row, Other::row, 256, 128, 128)->UseManualTime();
BENCHMARK_CAPTURE(binary_of, large / matrix, Other::matrix, 1 << 13, 4096, 4096)->UseManualTime();
BENCHMARK_CAPTURE(binary_of, large / row, Other::row, 1 << 13, 4096, 4096)->UseManualTime();
BENCHMARK_CAPTURE(binary_of, large / column, Other::column, 1 << 13, 4096, 4096)->UseManualTime();
BENCHMARK_CAPTURE(binary_of, large / value, Other::value, 1 << 13, 4096, 4096)->UseManualTime();
BENCHMARK_CAPTURE(binary_of, large / strided, Other::matrix, 1 << 13, 4000, 4096)->UseManualTime();
BENCHMARK_CAPTURE(binary_of, large / odd_stride, Other::row, 1 << 13, 4095, 4095)->UseManualTime();

void unary_of(benchmark::State& state, UnaryOperator op, int64_t rows, int64_t cols) {
  Buffer<float> x = normal_buffer(rows * cols, 1), y(rows * cols);
  const std::vector<float> host = x.download();
  std::vector<double> expected;
  for (size_t j = 0; j < kChecked; ++j)
    expected.push_back(op == UnaryOperator::exp ? std::exp(double{host[j]}) : std::tanh(double{host[j]}));
  time_checked(
      state, 2 * kFloat * static_cast<double>(rows * cols),
      [&](cudaStream_t stream) {
        return unary(matrix(y.data(), rows, cols), matrix<const float>(x.data(), rows, cols), op, stream);
      },
      y, expected);
}
BENCHMARK_CAPTURE(unary_of, lenet / tanh, UnaryOperator::tanh, 256, 128)->UseManualTime();
BENCHMARK_CAPTURE(unary_of, large / exp, UnaryOperator::exp, 1 << 13, 4096)->UseManualTime();
BENCHMARK_CAPTURE(unary_of, large / tanh, UnaryOperator::tanh, 1 << 13, 4096)->UseManualTime();

}  // namespace
}  // namespace rondo::bench
