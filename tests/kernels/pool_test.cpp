#include <gtest/gtest.h>

#include <rondo/kernels/pool/pool.h>
#include <rondo/tests/kernels/reference/pool_cases.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <cmath>
#include <string_view>
#include <vector>

namespace rondo::test {
namespace {

double divisor(AverageOver over, int64_t padded, const std::vector<size_t>& inside) {
  return over == AverageOver::image ? static_cast<double>(inside.size()) : static_cast<double>(padded);
}

TEST(AvgPool, MatchesDoublePrecision) {
  const Stream stream;
  for (const PoolCase& c : pool_cases())
    for (const AverageOver over : {AverageOver::window, AverageOver::image}) {
      const std::vector<float> x = normal_values(c.x_size(), 1);
      const GuardedBuffer<float> in(x, c.offset);
      GuardedBuffer<float> out(c.y_size(), c.offset);
      ASSERT_TRUE(ok(avg_pool(c.y_view(out.data()), c.x_view(in.data()), c.window, over, stream))) << c;
      std::vector<double> want(static_cast<size_t>(c.y_size()));
      for_each_window(c, [&](size_t y, int64_t padded, const std::vector<size_t>& inside) {
        for (const size_t i : inside) want[y] += x[i] / divisor(over, padded, inside);
      });
      EXPECT_TRUE(all_near(out.download(), want, 1e-6)) << c;
    }
}

// The backward pass is the transpose of the forward pass, <dy, pool(x)> = <pool_backward(dy), x>, element by
// element.
TEST(AvgPoolBackward, MatchesDoublePrecision) {
  const Stream stream;
  for (const PoolCase& c : pool_cases())
    for (const AverageOver over : {AverageOver::window, AverageOver::image}) {
      const std::vector<float> dy = normal_values(c.y_size(), 2);
      const GuardedBuffer<float> in(dy, c.offset);
      GuardedBuffer<float> out(c.x_size(), c.offset);
      ASSERT_TRUE(ok(avg_pool_backward(c.x_view(out.data()), c.y_view(in.data()), c.window, over, stream)))
          << c;
      std::vector<double> want(static_cast<size_t>(c.x_size()));
      for_each_window(c, [&](size_t y, int64_t padded, const std::vector<size_t>& inside) {
        for (const size_t i : inside) want[i] += dy[y] / divisor(over, padded, inside);
      });
      EXPECT_TRUE(all_near(out.download(), want, 2e-6)) << c;
    }
}

TEST(AvgPoolReluBackward, GivesTheGradientWhereTheReluIsActive) {
  const Stream stream;
  for (const PoolCase& c : pool_cases())
    for (const AverageOver over : {AverageOver::window, AverageOver::image}) {
      const std::vector<float> dy = normal_values(c.y_size(), 3), x = tied_values(c.x_size(), 4);
      const GuardedBuffer<float> in_dy(dy, c.offset), in_x(x, c.offset);
      GuardedBuffer<float> dx(c.x_size(), c.offset), dz(c.x_size(), c.offset);
      ASSERT_TRUE(ok(avg_pool_backward(c.x_view(dx.data()), c.y_view(in_dy.data()), c.window, over, stream)));
      ASSERT_TRUE(ok(avg_pool_relu_backward(c.x_view(dz.data()), c.y_view(in_dy.data()),
                                            c.x_view(in_x.data()), c.window, over, stream)));
      std::vector<float> want = dx.download();
      for (size_t i = 0; i < want.size(); ++i) want[i] = x[i] > 0 ? want[i] : 0.0f;
      EXPECT_TRUE(all_equal_bits(dz.download(), want)) << c;
    }
}

TEST(MaxPool, ForwardIsExactAndBackwardGoesToTheFirstMaximum) {
  const Stream stream;
  for (const PoolCase& c : max_pool_cases())
    for (const std::string_view of : {"distinct values", "ties", "ties and NaN"}) {
      SCOPED_TRACE(of);
      std::vector<float> x =
          of == "distinct values" ? normal_values(c.x_size(), 5) : tied_values(c.x_size(), 5);
      if (of == "ties and NaN")
        for (size_t i = 3; i < x.size(); i += 7) x[i] = NAN;
      const std::vector<float> dy = exact_values(c.y_size(), 6);
      const MaxPoolReference want = max_pool_reference(c, x, dy);
      const GuardedBuffer<float> in_x(x, c.offset), in_dy(dy, c.offset);
      GuardedBuffer<float> y(c.y_size(), c.offset), dx(c.x_size(), c.offset);
      ASSERT_TRUE(ok(max_pool(c.y_view(y.data()), c.x_view(in_x.data()), c.window, stream))) << c;
      EXPECT_TRUE(all_equal_bits(y.download(), want.y)) << c;
      ASSERT_TRUE(ok(max_pool_backward(c.x_view(dx.data()), c.y_view(in_dy.data()), c.y_view(y.data()),
                                       c.x_view(in_x.data()), c.window, stream)))
          << c;
      EXPECT_TRUE(all_near(dx.download(), want.dx, 0)) << c;
    }
}

TEST(MaxPool, NanIsTheMaximumAndGetsTheGradient) {
  const Stream stream;
  const PoolCase c = {1, 2, 4, 1, {2, 2, 2, 2, 0, 0}};
  const float inf = INFINITY;
  const std::vector<float> x = {9, NAN, -inf, -inf, NAN, inf, -inf, -inf};
  const GuardedBuffer<float> in_x(x), in_dy(std::vector<float>{3, 4});
  GuardedBuffer<float> y(2), dx(8);
  ASSERT_TRUE(ok(max_pool(c.y_view(y.data()), c.x_view(in_x.data()), c.window, stream)));
  const std::vector<float> maxima = y.download();
  EXPECT_TRUE(std::isnan(maxima[0]));
  EXPECT_EQ(maxima[1], -inf);
  ASSERT_TRUE(ok(max_pool_backward(c.x_view(dx.data()), c.y_view(in_dy.data()), c.y_view(y.data()),
                                   c.x_view(in_x.data()), c.window, stream)));
  EXPECT_TRUE(all_equal_bits(dx.download(), {0, 3, 4, 0, 0, 0, 0, 0}));
}

TEST(Pool, PooledSizeIsTheFloorOfTheFormula) {
  static_assert(pooled_size(28, 2, 2, 0) == 14);
  EXPECT_EQ(pooled_size(7, 2, 2, 0), 3);
  EXPECT_EQ(pooled_size(7, 3, 2, 1), 4);
  EXPECT_EQ(pooled_size(5, 5, 3, 0), 1);
  EXPECT_EQ(pooled_size(4, 5, 1, 0), 0);
}

TEST(Pool, CeilModeKeepsALastWindowThatStartsInsideTheImage) {
  EXPECT_EQ(pooled_size(7, 2, 2, 0, 0, true), 4);
  EXPECT_EQ(pooled_size(6, 2, 2, 0, 0, true), 3);
  EXPECT_EQ(pooled_size(6, 3, 2, 0, 0, true), 3);
  EXPECT_EQ(pooled_size(4, 2, 3, 1, 1, false), 2);
  EXPECT_EQ(pooled_size(4, 2, 3, 1, 1, true), 2);  // one more window would start at row 5
  EXPECT_EQ(pooled_size(3, 2, 2, 1, 1, true), 2);  // and here at row 3, the first one of the padding
  EXPECT_EQ(pooled_size(3, 1, 5, 0, 0, true), 1);
  EXPECT_EQ(pooled_size(5, 3, 1, 2, 0, false), 5);
  EXPECT_EQ(pooled_size(5, 3, 1, 3, 0, false), 0);
  EXPECT_EQ(pooled_size(5, 3, 1, 0, 3, false), 0);
  EXPECT_EQ(pooled_size(INT64_MAX, INT64_MAX, 1, 0, INT64_MAX - 1, true), 0);
  EXPECT_EQ(pooled_size(7, 2, INT64_MAX, 0, 0, true), 1);
}

TEST(Pool, DilationCountsTheExtentOfTheWindow) {
  static_assert(pooled_size(9, 3, 1, 0, 0, false, 2) == 5);
  EXPECT_EQ(pooled_size(9, 3, 2, 2, 2, false, 2), 5);
  EXPECT_EQ(pooled_size(10, 3, 2, 2, 2, true, 2), 6);
  EXPECT_EQ(pooled_size(4, 3, 1, 0, 0, false, 2), 0);
  EXPECT_EQ(pooled_size(9, 3, 1, 4, 4, false, 2), 13);
  EXPECT_EQ(pooled_size(9, 3, 1, 5, 0, false, 2), 0);
  EXPECT_EQ(pooled_size(9, 3, 1, 0, 5, false, 2), 0);
  EXPECT_EQ(pooled_size(9, 1, 1, 0, 0, false, INT64_MAX), 9);
  EXPECT_EQ(pooled_size(9, 2, 1, 0, 0, false, INT64_MAX), 0);
  EXPECT_EQ(pooled_size(9, INT64_MAX, 1, 0, 0, false, INT64_MAX), 0);
  EXPECT_EQ(pooled_size(9, 3, 1, 0, 0, false, 0), 0);
  EXPECT_EQ(pooled_size(4, 2, 1, 4, 4, false, 4), 8);  // each window has an element of the image,
  EXPECT_EQ(pooled_size(3, 2, 1, 4, 4, false, 4),
            0);  // and here the window from -1 has none: it has -1 and 3
  EXPECT_EQ(pooled_size(3, 2, 1, 0, 4, false, 4), 3);
}

// All operations use the same checks: the test covers every check once, and one check for every operation.
TEST(Pool, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> a(std::vector<float>(16)), b(16), pooled(4);
  const ImageView<float> x = {a.data(), 1, 4, 4, 1}, dx = {b.data(), 1, 4, 4, 1},
                         y = {pooled.data(), 1, 2, 2, 1};
  const PoolWindow good;
  const auto pool = [&](ImageView<float> out, ImageView<const float> in, PoolWindow window) {
    return avg_pool(out, in, window, AverageOver::window, stream);
  };
  ASSERT_TRUE(ok(pool(y, x, good)));
  EXPECT_TRUE(refused(pool({nullptr, 1, 2, 2, 1}, x, good), "avg_pool: y is null"));
  EXPECT_TRUE(refused(pool(y, {nullptr, 1, 4, 4, 1}, good), "avg_pool: x is null"));
  EXPECT_TRUE(refused(pool(y, {a.data(), 1, 4, -4, 1}, good), "avg_pool: x is 1 x 4 x -4 x 1"));
  EXPECT_TRUE(
      refused(pool({pooled.data(), 2, 2, 2, 1}, x, good), "has 2 images of 1 channel, must have 1 of 1"));
  EXPECT_TRUE(
      refused(pool({pooled.data(), 1, 2, 2, 2}, x, good), "has 1 image of 2 channels, must have 1 of 1"));
  EXPECT_TRUE(refused(pool({pooled.data(), 1, 3, 2, 1}, x, good),
                      "height of the pooled image is 3, must be 2 for an image with the height 4"));
  EXPECT_TRUE(
      refused(pool({pooled.data(), 1, 2, 1, 1}, x, good), "width of the pooled image is 1, must be 2"));
  EXPECT_TRUE(refused(pool(y, x, {0, 2, 2, 2, 0, 0}), "height is 0 and its stride 2"));
  EXPECT_TRUE(refused(pool(y, x, {2, 2, 2, 0, 0, 0}), "width is 2 and its stride 0"));
  EXPECT_TRUE(refused(pool(y, x, {2, 2, 2, 2, -1, 0}), "padding of the height is -1, must be in [0, 1]"));
  EXPECT_TRUE(refused(pool(y, x, {2, 3, 2, 2, 0, 3}), "padding of the width is 3, must be in [0, 2]"));
  EXPECT_TRUE(refused(pool(y, x, {2, 2, 2, 2, 0, 0, 2}), "padding of the height is 2, must be in [0, 1]"));
  EXPECT_TRUE(
      refused(pool(y, x, {2, 2, 2, 2, 0, 0, 0, -1}), "padding of the width is -1, must be in [0, 1]"));
  EXPECT_TRUE(refused(pool(y, x, {3, 2, 1, 2, 0, 0, 1, 0, true}),
                      "height of the pooled image is 2, must be 3 for an image with the height 4"));
  EXPECT_TRUE(refused(pool(y, x, {5, 2, 2, 2, 0, 0}),
                      "the window's height is 5, must be at most the padded image's: 4 + 0 + 0"));
  EXPECT_TRUE(refused(pool({pooled.data(), 1, 1, 2, 1}, {a.data(), 1, 0, 4, 1}, {2, 2, 2, 2, 1, 0}),
                      "height of the image is 0, must be at least 1"));
  const int64_t far = int64_t{1} << 31;
  EXPECT_TRUE(refused(pool({pooled.data(), 1, 1, 2, 1}, x, {2, 2, far, 2, 0, 0}), "2147483648"));
  EXPECT_TRUE(refused(pool({pooled.data(), 0, 1 << 14, 1 << 14, 4}, {a.data(), 0, 1 << 15, 1 << 15, 4}, good),
                      "must have at most 2147483647 elements"));

  const auto dilated = [](int64_t side, int64_t dilation_h, int64_t dilation_w, int64_t pad = 0) {
    return PoolWindow{.height = side,
                      .width = side,
                      .stride_h = 2,
                      .stride_w = 2,
                      .pad_h = pad,
                      .pad_w = pad,
                      .dilation_h = dilation_h,
                      .dilation_w = dilation_w};
  };
  EXPECT_TRUE(refused(max_pool(y, x, dilated(2, 0, 1), stream), "the dilation of the height is 0, must be"));
  EXPECT_TRUE(refused(max_pool(y, x, dilated(2, 1, -1), stream), "the dilation of the width is -1, must be"));
  EXPECT_TRUE(refused(max_pool(y, x, dilated(3, 2, 1), stream),
                      "window's height is 3 with dilation 2, must be at most the padded image's: 4 + 0 + 0"));
  EXPECT_TRUE(refused(max_pool(y, x, dilated(3, 2, 2, 5), stream), "height is 5, must be in [0, 4]"));
  EXPECT_TRUE(refused(max_pool(y, x, dilated(3, far, far, -1), stream), "must be in [0, 4294967296]"));
  EXPECT_TRUE(refused(max_pool(y, x, dilated(2, 5, 1, 1), stream),
                      "dilation of the height is 5, must be at most 4 in an image of that height with"));
  EXPECT_TRUE(refused(max_pool(y, x, dilated(2, 3, 1), stream),
                      "height of the pooled image is 2, must be 1 for an image with the height 4"));
  PoolWindow averaged = dilated(2, 1, 2);
  averaged.pad_w = 1;
  EXPECT_TRUE(ok(max_pool(y, x, averaged, stream)));
  EXPECT_TRUE(refused(pool(y, x, averaged), "avg_pool: the dilation is 1 x 2, must be 1 x 1"));

  const PoolWindow bad = {0, 2, 2, 2, 0, 0};
  const AverageOver over = AverageOver::window;
  const ImageView<float> null_x = {nullptr, 1, 4, 4, 1}, null_y = {nullptr, 1, 2, 2, 1},
                         small = {a.data(), 1, 4, 3, 1}, small_y = {pooled.data(), 1, 2, 1, 1};
  EXPECT_TRUE(
      refused(avg_pool_backward(dx, y, bad, over, stream), "avg_pool_backward: the window's height is 0"));
  EXPECT_TRUE(refused(avg_pool_backward(null_x, y, good, over, stream), "avg_pool_backward: dx is null"));
  EXPECT_TRUE(refused(avg_pool_backward(dx, null_y, good, over, stream), "avg_pool_backward: dy is null"));
  EXPECT_TRUE(
      refused(avg_pool_relu_backward(dx, y, x, bad, over, stream), "avg_pool_relu_backward: the window's"));
  EXPECT_TRUE(refused(avg_pool_relu_backward(null_x, y, x, good, over, stream), "dz is null"));
  EXPECT_TRUE(refused(avg_pool_relu_backward(dx, null_y, x, good, over, stream), "dy is null"));
  EXPECT_TRUE(refused(avg_pool_relu_backward(dx, y, null_x, good, over, stream), "x is null"));
  EXPECT_TRUE(
      refused(avg_pool_relu_backward(dx, y, small, good, over, stream), "x is 1 x 4 x 3 x 1, must be"));
  EXPECT_TRUE(refused(avg_pool_backward(dx, y, averaged, over, stream), "backward: the dilation is 1 x 2"));
  EXPECT_TRUE(
      refused(avg_pool_relu_backward(dx, y, x, averaged, over, stream), "backward: the dilation is 1 x 2"));
  EXPECT_TRUE(refused(max_pool(y, x, bad, stream), "max_pool: the window's height is 0"));
  EXPECT_TRUE(refused(max_pool(null_y, x, good, stream), "max_pool: y is null"));
  EXPECT_TRUE(refused(max_pool(y, null_x, good, stream), "max_pool: x is null"));
  EXPECT_TRUE(
      refused(max_pool_backward(dx, y, y, x, bad, stream), "max_pool_backward: the window's height is 0"));
  EXPECT_TRUE(refused(max_pool_backward(null_x, y, y, x, good, stream), "dx is null"));
  EXPECT_TRUE(refused(max_pool_backward(dx, null_y, y, x, good, stream), "dy is null"));
  EXPECT_TRUE(refused(max_pool_backward(dx, y, null_y, x, good, stream), "y is null"));
  EXPECT_TRUE(refused(max_pool_backward(dx, y, y, null_x, good, stream), "x is null"));
  EXPECT_TRUE(refused(max_pool_backward(dx, y, y, small, good, stream), "x is 1 x 4 x 3 x 1, must be"));
  EXPECT_TRUE(refused(max_pool_backward(dx, y, small_y, x, good, stream), "y is 1 x 2 x 1 x 1, must be"));
}

}  // namespace
}  // namespace rondo::test
