#include <gtest/gtest.h>

#include <rondo/kernels/pool/pool.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <cmath>

namespace rondo::test {
namespace {

struct Case {
  int64_t images, height, width, channels;
  PoolWindow window;
  int offset = 0;

  int64_t rows() const { return pooled_height(height, window); }
  int64_t cols() const { return pooled_width(width, window); }
  int64_t x_size() const { return images * height * width * channels; }
  int64_t y_size() const { return images * rows() * cols() * channels; }
  size_t x_at(int64_t n, int64_t h, int64_t w, int64_t c) const {
    return static_cast<size_t>(((n * height + h) * width + w) * channels + c);
  }
  template <class T>
  ImageView<T> x_view(T* data) const {
    return {data, images, height, width, channels};
  }
  template <class T>
  ImageView<T> y_view(T* data) const {
    return {data, images, rows(), cols(), channels};
  }

  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.images << " x " << c.height << " x " << c.width << " x " << c.channels << ", window "
               << c.window.height << " x " << c.window.width << ", stride " << c.window.stride_h << " x "
               << c.window.stride_w << ", padding " << c.window.pad_h << " x " << c.window.pad_w << ", then "
               << c.window.bottom() << " x " << c.window.right() << (c.window.ceil_mode ? ", ceil mode" : "")
               << ", offset " << c.offset;
  }
};

const std::vector<Case> kCases = {
    {3, 26, 26, 20, {2, 2, 2, 2, 0, 0}},  // LeNet's first
    {2, 8, 8, 50, {2, 2, 2, 2, 0, 0}},    // LeNet's second
    {2, 9, 7, 8, {3, 3, 2, 2, 1, 1}},     // ResNet's: windows overlap
    {2, 5, 5, 16, {5, 5, 1, 1, 0, 0}},    // global
    {1, 1, 1, 1, {1, 1, 1, 1, 0, 0}},
    {2, 7, 9, 3, {3, 2, 1, 3, 1, 0}},    // gaps between windows, odd channels
    {1, 10, 11, 5, {2, 3, 4, 5, 1, 1}},  // stride beyond the window
    {1, 6, 13, 6, {4, 5, 2, 1, 2, 2}, 1},
    {2, 4, 6, 4, {2, 2, 2, 2, 1, 1}, 1},  // whole rows of padding, misaligned
    {2, 4, 6, 4, {2, 2, 2, 2, 0, 0}, 2},
    {9, 5, 4, 2, {2, 2, 2, 2, 0, 0}},    // more images than a thread handles at once; odd sides
    {6, 3, 3, 257, {2, 2, 1, 1, 0, 0}},  // more channels than a block handles at once
    {1, 3, 151, 4, {3, 3, 1, 1, 1, 1}},  // more columns than a block handles
    {0, 4, 4, 4, {2, 2, 2, 2, 0, 0}},
    {2, 4, 4, 0, {2, 2, 2, 2, 0, 0}},
    // One number away from the window that the kernels have as a compile-time constant.
    {2, 7, 6, 4, {3, 2, 2, 2, 0, 0}},
    {2, 7, 6, 4, {1, 2, 2, 2, 0, 0}},
    {2, 6, 7, 4, {2, 3, 2, 2, 0, 0}},
    {2, 6, 7, 4, {2, 1, 2, 2, 0, 0}},
    {2, 6, 6, 4, {2, 2, 1, 2, 0, 0}},
    {2, 8, 6, 4, {2, 2, 3, 2, 0, 0}},
    {2, 6, 6, 4, {2, 2, 2, 1, 0, 0}},
    {2, 6, 8, 4, {2, 2, 2, 3, 0, 0}},
    {2, 6, 6, 4, {2, 2, 2, 2, 1, 0}},
    {2, 6, 6, 4, {2, 2, 2, 2, 0, 1}},
    {2, 6, 6, 4, {2, 2, 2, 2, 0, 0, 1, 0}},
    {2, 6, 6, 4, {2, 2, 2, 2, 0, 0, 0, 1}},
    // Ceil mode: the last window is cut off, drops out or fits.
    {2, 7, 7, 8, {2, 2, 2, 2, 0, 0, 0, 0, true}},
    {2, 7, 6, 4, {2, 2, 2, 2, 0, 0, 0, 0, true}},
    {2, 6, 7, 4, {2, 2, 2, 2, 0, 0, 0, 0, true}},
    {2, 6, 6, 4, {2, 2, 2, 2, 0, 0, 0, 0, true}},
    {2, 6, 6, 5, {3, 3, 2, 2, 0, 0, 0, 0, true}},
    {2, 5, 8, 4, {3, 3, 2, 2, 1, 1, {}, {}, true}, 1},
    {1, 6, 9, 3, {3, 4, 4, 5, 1, 2, 2, 1, true}},
    {1, 3, 3, 4, {1, 1, 5, 5, 0, 0, 0, 0, true}},
    // Padding of more than half the window.
    {2, 5, 6, 8, {4, 3, 1, 2, 3, 2}},
    {2, 5, 6, 6, {4, 3, 2, 1, 0, 2, 3, 0}, 1},
    {1, 1, 2, 4, {5, 5, 1, 1, 4, 4}},
};

// kCases and drawn ones.
std::vector<Case> all_cases() {
  std::vector<Case> cases = kCases;
  Random random(7);
  while (cases.size() < kCases.size() + 60) {
    PoolWindow w = {1 + random.below(5), 1 + random.below(5), 1 + random.below(4), 1 + random.below(4)};
    w.pad_h = random.below(w.height);
    w.pad_w = random.below(w.width);
    w.pad_bottom = random.below(w.height);
    w.pad_right = random.below(w.width);
    w.ceil_mode = random.below(2) == 1;
    const Case c = {1 + random.below(3),
                    1 + random.below(10),
                    1 + random.below(10),
                    1 + random.below(9),
                    w,
                    static_cast<int>(random.below(2))};
    if (c.rows() > 0 && c.cols() > 0) cases.push_back(c);
  }
  return cases;
}

// Calls visit(index in y, size of the window inside the padded image, indices of the window's elements in x,
// row by row) for every window and channel.
template <class Visit>
void for_each_window(const Case& c, Visit visit) {
  size_t y = 0;
  for (int64_t n = 0; n < c.images; ++n)
    for (int64_t p = 0; p < c.rows(); ++p)
      for (int64_t q = 0; q < c.cols(); ++q)
        for (int64_t k = 0; k < c.channels; ++k) {
          std::vector<size_t> inside;
          int64_t padded = 0;
          for (int64_t r = 0; r < c.window.height; ++r)
            for (int64_t s = 0; s < c.window.width; ++s) {
              const int64_t h = p * c.window.stride_h - c.window.pad_h + r;
              const int64_t w = q * c.window.stride_w - c.window.pad_w + s;
              padded += h < c.height + c.window.bottom() && w < c.width + c.window.right();
              if (h >= 0 && h < c.height && w >= 0 && w < c.width) inside.push_back(c.x_at(n, h, w, k));
            }
          visit(y++, padded, inside);
        }
}

double divisor(AverageOver over, int64_t padded, const std::vector<size_t>& inside) {
  return over == AverageOver::image ? static_cast<double>(inside.size()) : static_cast<double>(padded);
}

TEST(AvgPool, MatchesDoublePrecision) {
  const Stream stream;
  for (const Case& c : all_cases())
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
  for (const Case& c : all_cases())
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

// -1, 0 and 1: many ties and zeros.
std::vector<float> tied_values(int64_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(random.below(3)) - 1);
  return values;
}

TEST(AvgPoolReluBackward, GivesTheGradientWhereTheReluIsActive) {
  const Stream stream;
  for (const Case& c : all_cases())
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

struct MaxPoolReference {
  std::vector<float> y;
  std::vector<double> dx;
};

MaxPoolReference max_pool_reference(const Case& c, const std::vector<float>& x,
                                    const std::vector<float>& dy) {
  MaxPoolReference reference = {std::vector<float>(dy.size()), std::vector<double>(x.size())};
  for_each_window(c, [&](size_t y, int64_t, const std::vector<size_t>& inside) {
    size_t best = inside[0];
    for (const size_t i : inside)
      if (!std::isnan(x[best]) && (x[i] > x[best] || std::isnan(x[i]))) best = i;
    reference.y[y] = x[best];
    reference.dx[best] += dy[y];
  });
  return reference;
}

TEST(MaxPool, ForwardIsExactAndBackwardGoesToTheFirstMaximum) {
  const Stream stream;
  for (const Case& c : all_cases())
    for (const bool ties : {false, true}) {
      const std::vector<float> x = ties ? tied_values(c.x_size(), 5) : normal_values(c.x_size(), 5);
      const std::vector<float> dy = exact_values(c.y_size(), 6);
      const MaxPoolReference want = max_pool_reference(c, x, dy);
      const GuardedBuffer<float> in_x(x, c.offset), in_dy(dy, c.offset);
      GuardedBuffer<float> y(c.y_size(), c.offset), dx(c.x_size(), c.offset);
      ASSERT_TRUE(ok(max_pool(c.y_view(y.data()), c.x_view(in_x.data()), c.window, stream))) << c;
      EXPECT_TRUE(all_equal_bits(y.download(), want.y)) << c;
      ASSERT_TRUE(ok(max_pool_backward(c.x_view(dx.data()), c.y_view(in_dy.data()), c.y_view(y.data()),
                                       c.x_view(in_x.data()), c.window, stream)))
          << c;
      EXPECT_TRUE(all_near(dx.download(), want.dx, 0)) << c << (ties ? " with ties" : "");
    }
}

TEST(MaxPool, NanIsTheMaximumAndGetsTheGradient) {
  const Stream stream;
  const Case c = {1, 2, 4, 1, {2, 2, 2, 2, 0, 0}};
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
