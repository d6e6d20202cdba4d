// Convolutions by vectors of images (direct/image_vectors.h): the bits of an implicit GEMM, and what cannot
// be computed with them. Only the CPU executor has the kernel.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/kernels/conv/conv_transpose2d.h>
#include <rondo/kernels/conv/direct/image_vectors.h>
#include <rondo/tests/kernels/convolutions_by_tile.h>
#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <vector>

namespace rondo::test {
namespace {

using enum ConvOperation;

ConvPlan by_image_vectors() { return {.method = ConvMethod::image_vectors}; }
// A tile that every device has.
ConvPlan by_channels() { return plan_of_tile({Instruction::fma, Arithmetic::fp32, 64, 64}); }

class ImageVectors : public testing::Test {
 protected:
  void SetUp() override {
    throw_if_error(device_properties(&device_));
    if (!device_.vectors) GTEST_SKIP() << "the device has no vector registers";
  }
  bool fits(ConvOperation operation, const ConvCase& c) const {
    return image_vectors_fit(operation, geometry_of(c), device_);
  }
  DeviceProperties device_;
  Stream stream_;
};

ConvCase drawn_case(Random& random) {
  const int64_t r = 1 + random.below(5), s = 1 + random.below(5);
  ConvCase c = {1 + random.below(40),
                r + random.below(9),
                s + random.below(9),
                1 + random.below(30),
                1 + random.below(70),
                r,
                s};
  c.options.stride_h = 1 + random.below(3), c.options.stride_w = 1 + random.below(3);
  c.options.pad_h = random.below(r + 1), c.options.pad_w = random.below(s + 1);
  draw_dilation_and_sides(random, c);
  return c;
}

TEST_F(ImageVectors, HaveTheBitsOfAnImplicitGemm) {
  Random random(61);
  int forward_passes = 0, gradients = 0;
  for (int draw = 0; draw < 150; ++draw) {
    const ConvCase c = drawn_case(random);
    SCOPED_TRACE(testing::PrintToString(c));
    const int64_t offset = random.below(3);
    const GuardedBuffer<float> x(normal_values(c.x_size(), 1), offset),
        filter(normal_values(c.filter_size(), 2), offset), dy(normal_values(c.y_size(), 3), offset),
        bias(normal_values(c.k, 4)), in_bias(normal_values(c.c, 5)), residual(normal_values(c.y_size(), 6));
    if (fits(forward, c)) {
      ++forward_passes;
      Conv2dEpilogue epilogue = {.relu = random.below(2) == 0};
      if (random.below(2) == 0) epilogue.bias = {bias.data(), c.k};
      if (random.below(3) == 0) epilogue.residual = y_view(c, residual.data());
      const auto y_by = [&](const ConvPlan& plan) {
        GuardedBuffer<float> y(c.y_size(), offset);
        EXPECT_TRUE(ok(conv2d_forward_with_plan<float>(&plan, y_view(c, y.data()), x_view(c, x.data()),
                                                       filter_view(c, filter.data()), c.options, epilogue, {},
                                                       stream_)));
        return y.download();
      };
      EXPECT_TRUE(all_equal_bits(y_by(by_image_vectors()), y_by(by_channels())));
    }
    if (fits(data_gradient, c)) {
      ++gradients;
      const Conv2dDataGradientEpilogue epilogue = {.beta = random.below(2) == 0 ? 0 : -0.3f};
      const auto dx_by = [&](const ConvPlan& plan) {
        GuardedBuffer<float> dx(normal_values(c.x_size(), 7), offset);
        EXPECT_TRUE(ok(conv2d_data_gradient_with_plan<float>(
            &plan, x_view(c, dx.data()), y_view(c, dy.data()), filter_view(c, filter.data()), c.options,
            epilogue, {}, stream_)));
        return dx.download();
      };
      EXPECT_TRUE(all_equal_bits(dx_by(by_image_vectors()), dx_by(by_channels())));
    }
  }
  EXPECT_GT(forward_passes, 100);
  EXPECT_GT(gradients, 100);
}

// A first layer, whose other kernel is that of few channels.
TEST_F(ImageVectors, HaveTheBitsOfFewChannels) {
  const ConvPlan few = {.method = ConvMethod::few_channels};
  for (const ConvCase& c : {ConvCase{20, 14, 15, 1, 20, 3, 3},
                            ConvCase{17, 9, 8, 3, 33, 5, 4, {.stride_w = 2, .pad_h = 2, .pad_w = 1}}}) {
    SCOPED_TRACE(testing::PrintToString(c));
    ASSERT_EQ(choose_conv_method({forward, geometry_of(c)}), ConvMethod::few_channels);
    const GuardedBuffer<float> x(normal_values(c.x_size(), 1)), filter(normal_values(c.filter_size(), 2)),
        bias(normal_values(c.k, 3));
    const auto y_by = [&](const ConvPlan* plan) {
      GuardedBuffer<float> y(c.y_size());
      EXPECT_TRUE(ok(conv2d_forward_with_plan<float>(
          plan, y_view(c, y.data()), x_view(c, x.data()), filter_view(c, filter.data()), c.options,
          {.bias = {bias.data(), c.k}, .relu = true}, {}, stream_)));
      return y.download();
    };
    const ConvPlan images = by_image_vectors();
    EXPECT_TRUE(all_equal_bits(y_by(&images), y_by(&few)));
    EXPECT_TRUE(all_equal_bits(y_by(nullptr), y_by(&few)));
  }
}

// The layers of LeNet, of which an implicit GEMM would fill 20 of 32 lanes and 50 of 64.
TEST_F(ImageVectors, AreChosenWhereTheyFillTheLanes) {
  const auto method = [&](ConvOperation operation, const ConvCase& c) {
    return choose_conv_plan({operation, geometry_of(c)}, device_).method;
  };
  const ConvCase first = {256, 28, 28, 1, 20, 3, 3}, second = {256, 13, 13, 20, 50, 5, 5};
  EXPECT_EQ(method(forward, first), ConvMethod::image_vectors);
  EXPECT_EQ(method(forward, second), ConvMethod::image_vectors);
  EXPECT_EQ(method(data_gradient, second), ConvMethod::image_vectors);
  EXPECT_EQ(method(filter_gradient, second), ConvMethod::implicit_gemm);
  // Few images, a sum in parts, and channels that fill the vectors of an implicit GEMM.
  EXPECT_EQ(method(forward, {2, 28, 28, 1, 20, 3, 3}), ConvMethod::few_channels);
  EXPECT_EQ(method(data_gradient, {2, 60, 60, 20, 50, 5, 5}), ConvMethod::implicit_gemm);
  EXPECT_EQ(method(forward, {16, 4, 4, 300, 20, 3, 3}), ConvMethod::implicit_gemm);
  EXPECT_EQ(method(forward, {256, 13, 13, 20, 64, 5, 5}), ConvMethod::implicit_gemm);
  // A device without vector registers.
  EXPECT_EQ(choose_conv_plan({forward, geometry_of(second)},
                             {.multiprocessors = 132, .shared_bytes_per_block = 227 << 10})
                .method,
            ConvMethod::implicit_gemm);
}

TEST_F(ImageVectors, RejectWhatTheyCannotCompute) {
  const ConvPlan plan = by_image_vectors();
  const auto forward_of = [&]<class T>(const ConvCase& c, T) {
    GuardedBuffer<T> x(c.x_size()), filter(c.filter_size()), y(c.y_size());
    return conv2d_forward_with_plan<T>(&plan, y_view(c, y.data()), x_view<const T>(c, x.data()),
                                       filter_view<const T>(c, filter.data()), c.options, {}, {}, stream_);
  };
  EXPECT_TRUE(refused(forward_of({16, 4, 4, 8, 3, 3, 3}, 0.0f), "4 channels of the result, here 3,"));
  EXPECT_TRUE(refused(forward_of({1, 8, 6000, 9, 8, 3, 3}, 0.0f),
                      concat(" bytes of shared memory, here ", device_.shared_bytes_per_block)));
  EXPECT_TRUE(refused(forward_of({16, 4, 4, 8, 8, 3, 3}, __nv_bfloat16()),
                      "conv2d_forward: the plan is for fp32, the convolution is one of bf16"));
  EXPECT_TRUE(refused(forward_of({16, 4, 4, 8, 8, 3, 3, {.groups = 2}}, 0.0f),
                      "conv2d_forward: the plan is for one group, the convolution has 2"));
}

}  // namespace
}  // namespace rondo::test
