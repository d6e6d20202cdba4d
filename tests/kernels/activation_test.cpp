#include <gtest/gtest.h>

#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/activation/add_bias.h>
#include <rondo/kernels/activation/gelu.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/activation/sigmoid.h>
#include <rondo/kernels/core/activation_functions.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <cmath>
#include <limits>

namespace rondo::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Operators accept float32 and the 16-bit types, views of T as inputs, and no view of const T as the output.
template <class T>
concept HasOperators = requires(VectorView<T> y, MatrixView<T> matrix, const Workspace& w,
                                cudaStream_t stream) {
  relu(y, y, stream);
  add(y, y, y, true, stream);
  bias_gradient({}, matrix, 0.0f, w, stream);
};
static_assert(HasOperators<float> && HasOperators<__nv_bfloat16> && HasOperators<__half>);
static_assert(!HasOperators<double> && !HasOperators<const float>);

// core/launch_test.cu tests the elementwise kernel with all sizes and alignments. The few sizes here check
// that it gets the right arguments.
TEST(Relu, KeepsPositiveValues) {
  const Stream stream;
  for (const int64_t size : {0, 1, 5, 4099}) {
    const std::vector<float> x = normal_values(size, 1);
    const GuardedBuffer<float> in(x, 1);
    GuardedBuffer<float> out(size, 2);
    ASSERT_TRUE(ok(relu(out.view(), {in.data(), size}, stream)));
    std::vector<float> want;
    for (const float value : x) want.push_back(value > 0 ? value : 0);
    EXPECT_TRUE(all_equal_bits(out.download(), want));
  }
}

TEST(Relu, SpecialValues) {
  const Stream stream;
  const std::vector<float> x = {0.0f, -0.0f, kInfinity, -kInfinity, 1e-45f, -1e-45f, kNan};
  const GuardedBuffer<float> in(x);
  GuardedBuffer<float> out(7);
  ASSERT_TRUE(ok(relu(out.view(), {in.data(), 7}, stream)));
  std::vector<float> y = out.download();
  EXPECT_TRUE(std::isnan(y.back()));
  y.pop_back();
  EXPECT_TRUE(all_equal_bits(y, {0, 0, kInfinity, 0, 1e-45f, 0}));
}

TEST(Relu, InPlace) {
  const Stream stream;
  GuardedBuffer<float> x({-1, 2, -3, 4, -5});
  ASSERT_TRUE(ok(relu(x.view(), x.view(), stream)));
  EXPECT_TRUE(all_equal_bits(x.download(), {0, 2, 0, 4, 0}));
}

TEST(ReluBackward, PassesTheGradientWhereYIsPositive) {
  const Stream stream;
  for (const int64_t size : {0, 1, 5, 4099}) {
    const std::vector<float> dy = normal_values(size, 1);
    std::vector<float> y = normal_values(size, 2);
    for (float& value : y) value = value > 0 ? value : 0;
    const GuardedBuffer<float> in_dy(dy), in_y(y);
    GuardedBuffer<float> out(size);
    ASSERT_TRUE(ok(relu_backward(out.view(), {in_dy.data(), size}, {in_y.data(), size}, stream)));
    std::vector<float> want;
    for (size_t i = 0; i < y.size(); ++i) want.push_back(y[i] > 0 ? dy[i] : 0);
    EXPECT_TRUE(all_equal_bits(out.download(), want));
  }
}

TEST(ReluBackward, SpecialValues) {
  const Stream stream;
  const GuardedBuffer<float> dy({3, 3, kNan, kNan, 3, kInfinity}), y({kNan, 0, 0, 1, kInfinity, -0.0f});
  GuardedBuffer<float> out(6);
  ASSERT_TRUE(ok(relu_backward(out.view(), {dy.data(), 6}, {y.data(), 6}, stream)));
  const std::vector<float> dx = out.download();
  EXPECT_TRUE(std::isnan(dx[3]));
  EXPECT_TRUE(all_equal_bits(std::vector<float>{dx[0], dx[1], dx[2], dx[4], dx[5]}, {0, 0, 0, 3, 0}));
}

TEST(ReluBackward, InPlace) {
  const Stream stream;
  GuardedBuffer<float> dy({1, 2, 3, 4, 5});
  const GuardedBuffer<float> y({0, 2, 0, 4, 0});
  ASSERT_TRUE(ok(relu_backward(dy.view(), dy.view(), {y.data(), 5}, stream)));
  EXPECT_TRUE(all_equal_bits(dy.download(), {0, 2, 0, 4, 0}));
}

// activation_functions_test.cpp has the errors of the functions, alignment_test all alignments; this one
// checks that each operator computes its own, on the device with the bits of the host.
TEST(SmoothActivations, AreThoseOfTheirFunctions) {
  const Stream stream;
  for (const int64_t size : {0, 1, 5, 4099}) {
    std::vector<float> x = normal_values(size, 1);
    for (float& value : x) value *= 4;
    const std::vector<float> dy = normal_values(size, 2);
    const GuardedBuffer<float> in(x, 1), in_dy(dy);
    GuardedBuffer<float> out(size, 2);
    const auto expect = [&](const Status& status, const char* name, const auto& function) {
      SCOPED_TRACE(name);
      ASSERT_TRUE(ok(status));
      std::vector<float> want;
      for (size_t i = 0; i < x.size(); ++i) want.push_back(function(x[i], dy[i]));
      EXPECT_TRUE(all_equal_bits(out.download(), want));
    };
    const VectorView<const float> vx = {in.data(), size}, vdy = {in_dy.data(), size};
    expect(gelu(out.view(), vx, stream), "gelu", [](float v, float) { return gelu_of(v); });
    expect(gelu_tanh(out.view(), vx, stream), "gelu_tanh", [](float v, float) { return gelu_tanh_of(v); });
    expect(sigmoid(out.view(), vx, stream), "sigmoid", [](float v, float) { return sigmoid_of(v); });
    expect(gelu_backward(out.view(), vdy, vx, stream), "gelu_backward",
           [](float v, float d) { return d * gelu_slope(v); });
    expect(gelu_tanh_backward(out.view(), vdy, vx, stream), "gelu_tanh_backward",
           [](float v, float d) { return d * gelu_tanh_slope(v); });
    expect(sigmoid_backward(out.view(), vdy, vx, stream), "sigmoid_backward",
           [](float v, float d) { return d * fmaf(-v, v, v); });
  }
}

TEST(AddBias, AddsTheRowToEachRow) {
  const Stream stream;
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>(0, 5), {1, 1}, {7, 5}, {30, 64}, {3, 4100}}) {
    SCOPED_TRACE(concat(rows, " x ", cols));
    const std::vector<float> x = normal_values(rows * cols, 1), bias = normal_values(cols, 2);
    const GuardedBuffer<float> in(x), in_bias(bias);
    GuardedBuffer<float> out(rows * cols);
    ASSERT_TRUE(ok(add_bias(matrix(out.data(), rows, cols), matrix<const float>(in.data(), rows, cols),
                            {in_bias.data(), cols}, stream)));
    std::vector<float> want;
    for (size_t i = 0; i < x.size(); ++i) want.push_back(x[i] + bias[i % bias.size()]);
    EXPECT_TRUE(all_equal_bits(out.download(), want));
  }
}

TEST(Relu, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> a(4), b(4), c(4);
  const VectorView<float> good = a.view(), null = {nullptr, 4}, short_one = {b.data(), 3},
                          negative = {b.data(), -4};
  EXPECT_TRUE(refused(relu(null, good, stream), "relu: y is null"));
  EXPECT_TRUE(refused(relu(good, null, stream), "relu: x is null"));
  EXPECT_TRUE(refused(relu(negative, good, stream), "relu: y.size is -4"));
  EXPECT_TRUE(refused(relu(good, negative, stream), "relu: x.size is -4"));
  EXPECT_TRUE(refused(relu(good, short_one, stream), "relu: y.size is 4, must be x.size = 3"));
  EXPECT_TRUE(refused(relu_backward(null, good, good, stream), "dx is null"));
  EXPECT_TRUE(refused(relu_backward(good, null, good, stream), "dy is null"));
  EXPECT_TRUE(refused(relu_backward(good, good, null, stream), "y is null"));
  EXPECT_TRUE(refused(relu_backward(short_one, good, good, stream), "dx.size is 3, must be dy.size = 4"));
  EXPECT_TRUE(refused(relu_backward(good, good, short_one, stream), "y.size is 3, must be dy.size = 4"));
  const VectorView<float> empty;
  EXPECT_TRUE(ok(relu(empty, empty, stream)));
  EXPECT_TRUE(ok(relu_backward(empty, empty, empty, stream)));
}

TEST(Add, SumsAndAppliesRelu) {
  const Stream stream;
  for (const int64_t size : {0, 1, 5, 4099})
    for (const bool with_relu : {false, true}) {
      const std::vector<float> a = normal_values(size, 1), b = normal_values(size, 2);
      GuardedBuffer<float> in_a(a, 1);
      const GuardedBuffer<float> in_b(b, 1);
      GuardedBuffer<float> out(size);
      ASSERT_TRUE(ok(add(out.view(), in_a.view(), {in_b.data(), size}, with_relu, stream)));
      std::vector<float> want;
      for (size_t i = 0; i < a.size(); ++i) want.push_back(with_relu && a[i] + b[i] <= 0 ? 0 : a[i] + b[i]);
      EXPECT_TRUE(all_equal_bits(out.download(), want));
      ASSERT_TRUE(ok(add(in_a.view(), in_a.view(), {in_b.data(), size}, with_relu, stream)));
      EXPECT_TRUE(all_equal_bits(in_a.download(), want)) << "in place";
    }
}

TEST(Add, PropagatesNan) {
  const Stream stream;
  const GuardedBuffer<float> a({kNan, -kInfinity, kInfinity}), b({1, 1, -kInfinity});
  GuardedBuffer<float> out(3);
  ASSERT_TRUE(ok(add(out.view(), {a.data(), 3}, {b.data(), 3}, true, stream)));
  EXPECT_TRUE(std::isnan(out.download()[0]));
  EXPECT_EQ(out.download()[1], 0);
  EXPECT_TRUE(std::isnan(out.download()[2]));
}

TEST(Add, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> a(4), b(4), y(4);
  EXPECT_TRUE(refused(add({nullptr, 4}, a.view(), b.view(), false, stream), "y is null"));
  EXPECT_TRUE(refused(add(y.view(), {nullptr, 4}, b.view(), false, stream), "a is null"));
  EXPECT_TRUE(refused(add(y.view(), a.view(), {nullptr, 4}, false, stream), "b is null"));
  EXPECT_TRUE(refused(add(y.view(), {a.data(), 3}, b.view(), false, stream), "a.size is 3"));
  EXPECT_TRUE(refused(add(y.view(), a.view(), {b.data(), 3}, false, stream), "b.size is 3"));
}

}  // namespace
}  // namespace rondo::test
