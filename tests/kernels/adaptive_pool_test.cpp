#include <gtest/gtest.h>

#include <rondo/kernels/pool/adaptive_pool.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/tests/kernels/reference/pool_cases.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>

namespace rondo::test {
namespace {

TEST(AdaptiveAvgPool, MatchesDoublePrecision) {
  const Stream stream;
  for (const PoolCase& c : adaptive_cases()) {
    const std::vector<float> x = normal_values(c.x_size(), 1), dy = normal_values(c.y_size(), 2);
    const GuardedBuffer<float> in_x(x, c.offset), in_dy(dy, c.offset);
    GuardedBuffer<float> y(c.y_size(), c.offset), dx(c.x_size(), c.offset);
    ASSERT_TRUE(ok(adaptive_avg_pool(c.y_view(y.data()), c.x_view(in_x.data()), stream))) << c;
    ASSERT_TRUE(ok(adaptive_avg_pool_backward(c.x_view(dx.data()), c.y_view(in_dy.data()), stream))) << c;
    std::vector<double> want_y(y.download().size()), want_dx(x.size());
    for_each_window(c, [&](size_t at, int64_t, const std::vector<size_t>& inside) {
      for (const size_t i : inside) {
        want_y[at] += x[i] / static_cast<double>(inside.size());
        want_dx[i] += dy[at] / static_cast<double>(inside.size());
      }
    });
    EXPECT_TRUE(all_near(y.download(), want_y, 1e-6)) << c;
    // An element is in up to as many windows as there are windows for each element.
    const auto windows = static_cast<double>(c.rows() * c.cols()) / static_cast<double>(c.height * c.width);
    EXPECT_TRUE(all_near(dx.download(), want_dx, 1e-6 * (2 + windows))) << c;
  }
}

TEST(AdaptiveMaxPool, IsExactAndGivesTheIndexOfTheFirstMaximum) {
  const Stream stream;
  for (const PoolCase& c : adaptive_cases())
    for (const bool ties : {false, true}) {
      const std::vector<float> x = ties ? tied_values(c.x_size(), 5) : normal_values(c.x_size(), 5);
      const std::vector<float> dy = exact_values(c.y_size(), 6);
      const MaxPoolReference want = max_pool_reference(c, x, dy);
      const GuardedBuffer<float> in_x(x, c.offset), in_dy(dy, c.offset);
      GuardedBuffer<float> y(c.y_size(), c.offset), alone(c.y_size(), c.offset), dx(c.x_size(), c.offset);
      GuardedBuffer<int32_t> indices(c.y_size(), c.offset);
      ASSERT_TRUE(
          ok(adaptive_max_pool(c.y_view(y.data()), c.y_view(indices.data()), c.x_view(in_x.data()), stream)))
          << c;
      EXPECT_TRUE(all_equal_bits(y.download(), want.y)) << c;
      EXPECT_EQ(indices.download(), want.indices) << c;
      ASSERT_TRUE(ok(adaptive_max_pool(c.y_view(alone.data()), {}, c.x_view(in_x.data()), stream))) << c;
      EXPECT_TRUE(all_equal_bits(alone.download(), want.y)) << c;
      ASSERT_TRUE(ok(adaptive_max_pool_backward(c.x_view(dx.data()), c.y_view(in_dy.data()),
                                                c.y_view(indices.data()), stream)))
          << c;
      EXPECT_TRUE(all_near(dx.download(), want.dx, 0)) << c << (ties ? " with ties" : "");
    }
}

// Where the windows divide the image evenly, the results are those of fixed windows.
TEST(AdaptivePool, EvenWindowsHaveTheBitsOfFixedOnes) {
  const Stream stream;
  for (const PoolWindow& window : {PoolWindow{2, 2}, PoolWindow{3, 2}, PoolWindow{1, 5}, PoolWindow{7, 3}}) {
    const PoolCase c = {2, 3 * window.height, 4 * window.width, 8, window};
    const GuardedBuffer<float> x(normal_values(c.x_size(), 1)), dy(normal_values(c.y_size(), 2));
    GuardedBuffer<float> fixed_y(c.y_size()), y(c.y_size()), fixed_dx(c.x_size()), dx(c.x_size());
    const auto of_x = c.x_view(x.data()), of_dy = c.y_view(dy.data());
    ASSERT_TRUE(ok(avg_pool(c.y_view(fixed_y.data()), of_x, window, AverageOver::window, stream)));
    ASSERT_TRUE(ok(adaptive_avg_pool(c.y_view(y.data()), of_x, stream)));
    EXPECT_TRUE(all_equal_bits(y.download(), fixed_y.download())) << c;
    ASSERT_TRUE(ok(avg_pool_backward(c.x_view(fixed_dx.data()), of_dy, window, AverageOver::window, stream)));
    ASSERT_TRUE(ok(adaptive_avg_pool_backward(c.x_view(dx.data()), of_dy, stream)));
    EXPECT_TRUE(all_equal_bits(dx.download(), fixed_dx.download())) << c;
    ASSERT_TRUE(ok(max_pool(c.y_view(fixed_y.data()), of_x, window, stream)));
    ASSERT_TRUE(ok(adaptive_max_pool(c.y_view(y.data()), {}, of_x, stream)));
    EXPECT_TRUE(all_equal_bits(y.download(), fixed_y.download())) << c;
  }
}

// Products of two sides beyond 2^31: windows of the last rows.
TEST(AdaptivePool, LongSides) {
  const Stream stream;
  for (const auto& [rows, windows] :
       {std::pair{65535, 65534}, std::pair{65534, 65535}, std::pair{65535, 2}}) {
    const PoolCase c = {1, rows, 1, 1, {}, 0, PoolCase::Pooled{windows, 1}};
    const std::vector<float> x = normal_values(c.x_size(), 1), dy = exact_values(c.y_size(), 2);
    const MaxPoolReference want = max_pool_reference(c, x, dy);
    const GuardedBuffer<float> in_x(x), in_dy(dy);
    GuardedBuffer<float> y(c.y_size()), dx(c.x_size());
    GuardedBuffer<int32_t> indices(c.y_size());
    ASSERT_TRUE(
        ok(adaptive_max_pool(c.y_view(y.data()), c.y_view(indices.data()), c.x_view(in_x.data()), stream)));
    EXPECT_EQ(indices.download(), want.indices) << c;
    ASSERT_TRUE(ok(adaptive_max_pool_backward(c.x_view(dx.data()), c.y_view(in_dy.data()),
                                              c.y_view(indices.data()), stream)));
    EXPECT_TRUE(all_near(dx.download(), want.dx, 0)) << c;
  }
}

TEST(AdaptivePool, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> a(std::vector<float>(16)), b(16), pooled(9);
  GuardedBuffer<int32_t> index(std::vector<int32_t>(9));
  const ImageView<float> x = {a.data(), 1, 4, 4, 1}, dx = {b.data(), 1, 4, 4, 1},
                         y = {pooled.data(), 1, 3, 3, 1}, null = {nullptr, 1, 3, 3, 1};
  const ImageView<int32_t> indices = {index.data(), 1, 3, 3, 1}, few = {index.data(), 1, 3, 2, 1};
  EXPECT_TRUE(refused(adaptive_avg_pool(null, x, stream), "adaptive_avg_pool: y is null"));
  EXPECT_TRUE(refused(adaptive_avg_pool(y, null, stream), "adaptive_avg_pool: x is null"));
  EXPECT_TRUE(refused(adaptive_avg_pool({pooled.data(), 1, 0, 3, 1}, x, stream),
                      "adaptive_avg_pool: the image is 4 x 4 and the pooled image 0 x 3, all sides must be"));
  EXPECT_TRUE(refused(adaptive_avg_pool(y, {a.data(), 1, 4, 0, 1}, stream),
                      "the image is 4 x 0 and the pooled image 3 x 3"));
  EXPECT_TRUE(refused(adaptive_avg_pool({pooled.data(), 1, 3, 0, 1}, x, stream), "pooled image 3 x 0"));
  EXPECT_TRUE(refused(adaptive_avg_pool(y, {a.data(), 1, 0, 4, 1}, stream), "the image is 0 x 4"));
  EXPECT_TRUE(refused(adaptive_avg_pool(y, {a.data(), 1, 4, 2, 2}, stream),
                      "has 1 image of 1 channel, must have 1 of 2"));
  EXPECT_TRUE(refused(adaptive_avg_pool(y, {a.data(), 2, 4, 2, 1}, stream),
                      "has 1 image of 1 channel, must have 2 of 1"));
  EXPECT_TRUE(refused(adaptive_avg_pool({nullptr, 0, 1, 1, 1}, {nullptr, 0, 65536, 1, 1}, stream),
                      "is 65536, must be at most 65535"));
  EXPECT_TRUE(refused(adaptive_avg_pool({nullptr, 0, 1, 65536, 1}, {nullptr, 0, 1, 1, 1}, stream),
                      "is 65536, must be at most 65535"));
  EXPECT_TRUE(refused(adaptive_avg_pool({nullptr, 0, 40000, 60000, 1}, {nullptr, 0, 1, 1, 1}, stream),
                      "2400000000 pixels of 1 channel, must have at most 2147483647 elements"));
  EXPECT_TRUE(refused(adaptive_avg_pool({nullptr, 0, 1, 1, 9}, {nullptr, 0, 40000, 60000, 9}, stream),
                      "2400000000 pixels of 9 channels"));
  EXPECT_TRUE(ok(adaptive_avg_pool({nullptr, 0, 65535, 32768, 1}, {nullptr, 0, 1, 1, 1}, stream)));
  EXPECT_TRUE(refused(adaptive_avg_pool_backward(null, y, stream), "adaptive_avg_pool_backward: dx is null"));
  EXPECT_TRUE(refused(adaptive_avg_pool_backward(dx, null, stream), "dy is null"));
  EXPECT_TRUE(refused(adaptive_avg_pool_backward({b.data(), 1, 4, 0, 1}, y, stream), "the image is 4 x 0"));
  EXPECT_TRUE(refused(adaptive_max_pool(null, indices, x, stream), "adaptive_max_pool: y is null"));
  EXPECT_TRUE(refused(adaptive_max_pool(y, indices, null, stream), "adaptive_max_pool: x is null"));
  EXPECT_TRUE(refused(adaptive_max_pool(y, {nullptr, 1, 3, 3, 1}, x, stream), "indices is null"));
  EXPECT_TRUE(refused(adaptive_max_pool(y, few, x, stream), "indices is 1 x 3 x 2 x 1, must be"));
  EXPECT_TRUE(refused(adaptive_max_pool(y, {}, {a.data(), 1, 4, 0, 1}, stream), "the image is 4 x 0"));
  EXPECT_TRUE(refused(adaptive_max_pool_backward(null, y, indices, stream), "backward: dx is null"));
  EXPECT_TRUE(refused(adaptive_max_pool_backward(dx, null, indices, stream), "backward: dy is null"));
  EXPECT_TRUE(refused(adaptive_max_pool_backward(dx, y, {}, stream), "indices is 0 x 0 x 0 x 0, must be"));
  EXPECT_TRUE(refused(adaptive_max_pool_backward(dx, y, few, stream), "indices is 1 x 3 x 2 x 1, must be"));
}

}  // namespace
}  // namespace rondo::test
