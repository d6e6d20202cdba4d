// Transposed convolutions and their gradients against the definition in double precision: drawn shapes,
// output padding, strides, dilation, groups and padding of each side, in all types; the size of the result;
// bad arguments. conv_drawn_test.cpp and conv_narrow_test.cpp have every algorithm and tile.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/conv_transpose2d.h>
#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/kernels/reference/conv_transpose_reference.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/narrow.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace rondo::test {
namespace {

using Floats = std::vector<float>;

// PyTorch's examples and the edges: the numbers are those of torch.nn.ConvTranspose2d.
static_assert(conv_transpose2d_output_size(12, 3, 2, 1, 1, 1, 0) == 23);
static_assert(conv_transpose2d_output_size(12, 3, 2, 1, 1, 1, 1) == 24);
static_assert(conv_transpose2d_output_size(6, 3, 2, 1, 1, 1, 1) == 12);
static_assert(conv_transpose2d_output_size(5, 4, 3, 2, 2, 0, 2) == 19);
static_assert(conv_transpose2d_output_size(1, 1, 1, 0, 1, 0, 0) == 1);
static_assert(conv_transpose2d_output_size(1, 3, 1, 1, 1, 2, 0) == 0);  // nothing is left
static_assert(conv_transpose2d_output_size(5, 3, 2, 1, 1, 1, 2) == 0);  // the stride
static_assert(conv_transpose2d_output_size(0, 3, 2, 1, 1, 1, 0) == 0);
static_assert(conv_transpose2d_output_size((int64_t{1} << 31) - 1, 1, (int64_t{1} << 31) - 1, 0, 1, 0, 0) ==
              ((int64_t{1} << 31) - 2) * ((int64_t{1} << 31) - 1) + 1);
static_assert(conv_transpose2d_output_size(int64_t{1} << 31, 1, 1, 0, 1, 0, 0) == 0);

TEST(ConvTranspose2dSize, AConvolutionOfTheResultHasTheSizeOfTheInput) {
  int64_t sizes = 0;
  for (const int64_t size : {1, 2, 5})
    for (const int64_t filter : {1, 2, 3, 5})
      for (const int64_t stride : {1, 2, 3, 4})
        for (const int64_t pad : {0, 1, 2})
          for (const int64_t end : {0, 1, 3})
            for (const int64_t dilation : {1, 2, 3})
              for (int64_t extra = 0; extra < stride; ++extra) {
                const int64_t rows =
                    conv_transpose2d_output_size(size, filter, stride, pad, dilation, end, extra);
                if (rows == 0) continue;
                ++sizes;
                ASSERT_EQ(conv2d_output_size(rows, filter, stride, pad, dilation, end), size);
              }
  EXPECT_GT(sizes, 1000);
}

TransposedAxis draw_axis(Random& random) {
  TransposedAxis axis = {.size = 1 + random.below(6), .filter = 1 + random.below(4)};
  axis.stride = 1 + random.below(4);
  if (random.below(2) == 0) axis.dilation = 1 + random.below(3);
  axis.output_padding = random.below(axis.stride);
  const int64_t full = axis.outputs();
  axis.pad = std::min(random.below(3), full - 1);
  axis.end = random.below(2) == 0 ? std::min(axis.pad, full - 1 - axis.pad)
                                  : std::min(random.below(4), full - 1 - axis.pad);
  return axis;
}

TransposedCase draw(Random& random) {
  TransposedCase t = {1 + random.below(3), 1 + random.below(20), 1 + random.below(20), draw_axis(random),
                      draw_axis(random)};
  if (random.below(3) == 0) {
    t.groups = 2 + random.below(3);
    t.in *= t.groups, t.out *= t.groups;
    if (random.below(2) == 0) t.in = t.out = 8 * t.groups;
  }
  if (random.below(4) == 0) {  // of Winograd's algorithm
    t.groups = 1, t.in = 16 * (1 + random.below(3)), t.out = 16 * (1 + random.below(3));
    for (TransposedAxis* axis : {&t.h, &t.w}) *axis = {.size = 2 + random.below(5), .filter = 3, .end = 1};
  }
  return t;
}

Conv2dOptions options_of(const TransposedCase& t) {
  return {.stride_h = t.h.stride,
          .stride_w = t.w.stride,
          .pad_h = t.h.pad,
          .pad_w = t.w.pad,
          .dilation_h = t.h.dilation,
          .dilation_w = t.w.dilation,
          .groups = t.groups,
          .pad_bottom = t.h.end,
          .pad_right = t.w.end};
}

std::string text_of(const TransposedCase& t) {
  const auto axis = [](const TransposedAxis& a) {
    return concat(a.size, " rows, filter ", a.filter, ", stride ", a.stride, ", padding ", a.pad, " and ",
                  a.end, ", dilation ", a.dilation, ", output padding ", a.output_padding);
  };
  return concat(t.images, " images, ", t.in, " to ", t.out, " channels, ", t.groups, " groups; ", axis(t.h),
                "; ", axis(t.w));
}

// The products are exact, and so are float sums of up to 4096 of them: T rounds them once.
template <class T>
testing::AssertionResult rounded_once(const std::vector<T>& got, const std::vector<double>& want) {
  std::vector<double> bounds;
  return all_within(got, want,
                    [&](size_t i) { return sizeof(T) == 2 ? rounding_error<T>(std::abs(want[i])) : 0.0; });
}

template <class T>
class ConvTranspose : public testing::Test {
 protected:
  void SetUp() override { SKIP_IF_REFUSED(check_factor_type("", dtype_of<T>)); }
};
using Types = testing::Types<float, __nv_bfloat16, __half>;
TYPED_TEST_SUITE(ConvTranspose, Types);

TYPED_TEST(ConvTranspose, ValuesAndGradientsOfDrawnShapes) {
  using T = TypeParam;
  Random random(11 + sizeof(T));
  const Stream stream;
  int64_t padded = 0;
  for (int i = 0; i < 60; ++i) {
    const TransposedCase t = draw(random);
    padded += t.h.output_padding > 0 && t.w.output_padding > 0;
    const bool fused = random.below(2) == 0;
    const int64_t offset = random.below(2) == 0 ? 0 : random.below(5);
    SCOPED_TRACE(concat("draw ", i, ": ", text_of(t), fused ? ", bias and ReLU" : "", ", offset ", offset));
    const Conv2dOptions options = options_of(t);
    const Floats x = exact_values(t.x_size(), 1), filter = exact_values(t.filter_size(), 2),
                 dy = exact_values(t.y_size(), 3), bias = exact_values(t.out, 4);
    GuardedBuffer<T> dev_x(rounded<T>(x), offset), dev_filter(rounded<T>(filter), offset),
        dev_dy(rounded<T>(dy), offset), y(t.y_size(), offset), dx(t.x_size(), offset);
    GuardedBuffer<float> dev_bias(bias, offset), dw(t.filter_size(), offset);
    const auto [height, width] = conv_transpose2d_output_sides(
        t.h.size, t.w.size, t.h.filter, t.w.filter, options, t.h.output_padding, t.w.output_padding);
    const auto x_of = [&](auto* data) { return ImageView{data, t.images, t.h.size, t.w.size, t.in}; };
    const auto y_of = [&, height = height, width = width](auto* data) {
      return ImageView{data, t.images, height, width, t.out};
    };
    const auto filter_of = [&](auto* data) {
      return FilterView{data, t.in, t.h.filter, t.w.filter, t.out / t.groups};
    };
    const Conv2dWorkspaceBytes bytes =
        conv2d_workspace_bytes(y_of(static_cast<const float*>(nullptr)),
                               filter_of(static_cast<const float*>(nullptr)), options, dtype_of<T>);
    GuardedBuffer<float> scratch(std::max({bytes.forward, bytes.data_gradient, bytes.filter_gradient}) / 4);
    ConvTranspose2dEpilogue epilogue;
    if (fused) epilogue = {.bias = dev_bias.view(), .relu = true};
    ASSERT_TRUE(ok(conv_transpose2d(y_of(y.data()), x_of(dev_x.data()), filter_of(dev_filter.data()), options,
                                    epilogue, scratch.workspace(), stream)));
    std::vector<double> want = transposed_sums(t, in_double(x), in_double(filter));
    for (size_t e = 0; fused && e < want.size(); ++e)
      want[e] = std::max(want[e] + static_cast<double>(bias[e % bias.size()]), 0.0);
    ASSERT_TRUE(rounded_once(y.download(), want)) << "y";

    ASSERT_TRUE(ok(conv2d_forward(x_of(dx.data()), y_of(dev_dy.data()), filter_of(dev_filter.data()), options,
                                  {}, scratch.workspace(), stream)));
    ASSERT_TRUE(rounded_once(dx.download(), transposed_data_gradient(t, in_double(dy), in_double(filter))))
        << "gradient of x";
    ASSERT_TRUE(ok(conv2d_filter_gradient(filter_of(dw.data()), x_of(dev_x.data()), y_of(dev_dy.data()),
                                          options, {}, scratch.workspace(), stream)));
    ASSERT_TRUE(rounded_once(dw.download(), transposed_filter_gradient(t, in_double(dy), in_double(x))))
        << "gradient of the filter";
  }
  EXPECT_GT(padded, 5);
}

// A stride above the filter leaves pixels that no filter reaches, and output padding more of them.
TEST(ConvTransposeValues, APixelThatNoFilterReachesIsTheBias) {
  const Stream stream;
  GuardedBuffer<float> x(Floats{1, 2}), filter(Floats{3, -5}), bias(Floats{-4, 7}), y(1 * 6 * 2);
  // Two rows of one channel to rows 0 and 3 of 6, two channels.
  ASSERT_TRUE(ok(conv_transpose2d<float>({y.data(), 1, 6, 1, 2}, ImageView<float>{x.data(), 1, 2, 1, 1},
                                         FilterView<float>{filter.data(), 1, 1, 1, 2}, {.stride_h = 3},
                                         {.bias = bias.view(), .relu = true}, {}, stream)));
  EXPECT_TRUE(all_near(y.download(), {0, 2, 0, 7, 0, 7, 2, 0, 0, 7, 0, 7}, 0));
}

TEST(ConvTransposeValues, HasTheBitsOfTheDataGradient) {
  const ConvCase c = {2, 9, 8, 20, 24, 3, 3, {.stride_h = 2, .pad_h = 1, .pad_w = 1}};
  const Stream stream;
  GuardedBuffer<float> dy(normal_values(c.y_size(), 1)), filter(normal_values(c.filter_size(), 2)),
      dx(c.x_size()), y(c.x_size()), scratch(workspace_bytes(c).data_gradient / 4);
  ASSERT_TRUE(
      ok(conv2d_data_gradient(x_view(c, dx.data()), y_view(c, dy.data()), filter_view(c, filter.data()),
                              c.options, {}, scratch.workspace(), stream)));
  ASSERT_TRUE(ok(conv_transpose2d(x_view(c, y.data()), y_view(c, dy.data()), filter_view(c, filter.data()),
                                  c.options, {}, scratch.workspace(), stream)));
  EXPECT_TRUE(all_equal_bits(y.download(), dx.download()));
}

TEST(ConvTransposeEmpty, NoImagesAndNoInputChannels) {
  const Stream stream;
  const ConvCase none = {0, 4, 4, 2, 3, 3, 3}, no_input = {1, 4, 4, 2, 0, 3, 3};
  GuardedBuffer<float> filter(exact_values(none.filter_size(), 1)), bias(Floats{1.5f, -2}),
      y(no_input.x_size());
  EXPECT_TRUE(ok(conv_transpose2d(x_view<float>(none, nullptr), y_view<const float>(none, nullptr),
                                  filter_view(none, filter.data()), {}, {.bias = bias.view()}, {}, stream)));
  EXPECT_TRUE(ok(conv_transpose2d(x_view(no_input, y.data()), y_view<const float>(no_input, nullptr),
                                  filter_view<const float>(no_input, nullptr), {},
                                  {.bias = bias.view(), .relu = true}, {}, stream)));
  std::vector<double> want;
  for (int64_t pixel = 0; pixel < 16; ++pixel) want.insert(want.end(), {1.5, 0});
  EXPECT_TRUE(all_near(y.download(), want, 0));
}

TEST(ConvTransposeArguments, AreRefused) {
  const Stream stream;
  GuardedBuffer<float> x(36), filter(8 * 9 * 5), y(2 * 12 * 12 * 10), bias(11);
  const Conv2dOptions options = {.stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1, .groups = 2};
  const auto run = [&](int64_t height, int64_t channels, int64_t filters, VectorView<const float> with,
                       Conv2dOptions o, float* to) {
    return conv_transpose2d(
        ImageView<float>{to, 1, height, 5, channels}, ImageView<float>{x.data(), 1, 3, 3, 4},
        FilterView<float>{filter.data(), filters, 3, 3, 5}, o, {.bias = with}, {}, stream);
  };
  EXPECT_TRUE(refused(run(4, 10, 4, {}, options, y.data()), "conv_transpose2d: x is 3 along h, must be 2"));
  EXPECT_TRUE(refused(run(7, 10, 4, {}, options, y.data()), "conv_transpose2d: x is 3 along h, must be 4"));
  EXPECT_TRUE(ok(run(5, 10, 4, {}, options, y.data())));
  EXPECT_TRUE(ok(run(6, 10, 4, {}, options, y.data())));
  EXPECT_TRUE(refused(run(5, 8, 4, {}, options, y.data()), "filter.in_channels is 5"));
  EXPECT_TRUE(refused(run(5, 10, 6, {}, options, y.data()), "x.channels is 4"));
  EXPECT_TRUE(refused(run(5, 10, 4, {bias.data(), 11}, options, y.data()),
                      "bias has 11 elements, must be the channels of y, 10"));
  EXPECT_TRUE(refused(run(5, 10, 4, {}, options, nullptr), "y is null"));
  EXPECT_TRUE(refused(run(5, 10, 4, {}, options, filter.data()), "y overlaps filter"));
  Conv2dOptions bad = options;
  bad.groups = 3;
  EXPECT_TRUE(refused(run(5, 10, 4, {}, bad, y.data()), "conv_transpose2d: groups is 3"));
  stream.synchronize();
}

}  // namespace
}  // namespace rondo::test
