// Max pooling with indices, its backward pass, and max unpooling.
#include <gtest/gtest.h>

#include <rondo/kernels/pool/adaptive_pool.h>
#include <rondo/kernels/pool/max_unpool.h>
#include <rondo/tests/kernels/reference/pool_cases.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondo::test {
namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

// tied_values() with some NaNs.
std::vector<float> values_with_nan(int64_t count, uint64_t seed) {
  std::vector<float> values = tied_values(count, seed);
  for (size_t i = 0; i < values.size(); i += 1 + i % 7) values[i] = NAN;
  return values;
}

TEST(MaxPoolWithIndices, GivesTheIndexOfTheFirstMaximumAndBackwardFollowsIt) {
  const Stream stream;
  for (const PoolCase& c : max_pool_cases())
    for (const auto values : {normal_values, tied_values, values_with_nan}) {
      const std::vector<float> x = values(c.x_size(), 5), dy = exact_values(c.y_size(), 6);
      const MaxPoolReference want = max_pool_reference(c, x, dy);
      const GuardedBuffer<float> in_x(x, c.offset), in_dy(dy, c.offset);
      GuardedBuffer<float> y(c.y_size(), c.offset), dx(c.x_size(), c.offset);
      GuardedBuffer<int32_t> indices(c.y_size(), c.offset);
      ASSERT_TRUE(ok(max_pool_with_indices(c.y_view(y.data()), c.y_view(indices.data()),
                                           c.x_view(in_x.data()), c.window, stream)))
          << c;
      EXPECT_TRUE(all_equal_bits(y.download(), want.y)) << c;
      EXPECT_EQ(indices.download(), want.indices) << c;
      ASSERT_TRUE(ok(max_pool_with_indices_backward(c.x_view(dx.data()), c.y_view(in_dy.data()),
                                                    c.y_view(indices.data()), c.window, stream)))
          << c;
      EXPECT_TRUE(all_near(dx.download(), want.dx, 0)) << c;
    }
}

TEST(MaxPoolWithIndices, BackwardHasTheBitsOfTheOneFromValues) {
  const Stream stream;
  for (const PoolCase& c : max_pool_cases()) {
    std::vector<float> dy = normal_values(c.y_size(), 6);
    for (size_t i = 0; i < dy.size(); i += 3) dy[i] = -0.0f;
    const GuardedBuffer<float> x(tied_values(c.x_size(), 5), c.offset), in_dy(dy, c.offset);
    GuardedBuffer<float> y(c.y_size(), c.offset), dx(c.x_size(), c.offset), other(c.x_size(), c.offset);
    GuardedBuffer<int32_t> indices(c.y_size(), c.offset);
    ASSERT_TRUE(ok(max_pool_with_indices(c.y_view(y.data()), c.y_view(indices.data()), c.x_view(x.data()),
                                         c.window, stream)));
    ASSERT_TRUE(ok(max_pool_with_indices_backward(c.x_view(dx.data()), c.y_view(in_dy.data()),
                                                  c.y_view(indices.data()), c.window, stream)));
    ASSERT_TRUE(ok(max_pool_backward(c.x_view(other.data()), c.y_view(in_dy.data()), c.y_view(y.data()),
                                     c.x_view(x.data()), c.window, stream)));
    EXPECT_TRUE(all_equal_bits(dx.download(), other.download())) << c;
  }
}

// Indices of the windows' elements, and for each window where that element lies in the image: a third of
// the indices belong to no element of their window.
struct DrawnIndices {
  std::vector<int32_t> indices;
  std::vector<size_t> elements;  // kNone if it is of none
};
DrawnIndices drawn_indices(const PoolCase& c, uint64_t seed) {
  DrawnIndices drawn;
  Random random(seed);
  for_each_window(c, [&](size_t, int64_t, const std::vector<size_t>& inside) {
    const size_t element = inside[static_cast<size_t>(random.below(static_cast<int64_t>(inside.size())))];
    const int32_t area = static_cast<int32_t>(c.height * c.width);
    const int32_t wrong[] = {-1,        area,      area + 1,
                             INT32_MIN, INT32_MAX, static_cast<int32_t>(random.below(area))};
    const int32_t index = random.below(3) == 0 ? wrong[random.below(6)] : c.index_of(element);
    drawn.indices.push_back(index);
    const auto found =
        std::find_if(inside.begin(), inside.end(), [&](size_t i) { return c.index_of(i) == index; });
    drawn.elements.push_back(found == inside.end() ? kNone : *found);
  });
  return drawn;
}

TEST(MaxUnpool, CopiesTheLastWindowWithAnIndexAndIgnoresOthers) {
  const Stream stream;
  int64_t repeated = 0, ignored = 0;
  for (const PoolCase& c : max_pool_cases()) {
    const DrawnIndices drawn = drawn_indices(c, 11);
    std::vector<float> x = normal_values(c.y_size(), 12), dy = normal_values(c.x_size(), 13);
    for (size_t i = 0; i < x.size(); i += 5) x[i] = i % 2 == 0 ? -0.0f : NAN;
    for (size_t i = 0; i < dy.size(); i += 5) dy[i] = -0.0f;
    std::vector<size_t> owners(dy.size(), kNone);
    for (size_t i = 0; i < x.size(); ++i) {
      ignored += drawn.elements[i] == kNone;
      if (drawn.elements[i] == kNone) continue;
      repeated += owners[drawn.elements[i]] != kNone;
      owners[drawn.elements[i]] = i;
    }
    std::vector<float> want_y(dy.size()), want_dx(x.size());
    for (size_t i = 0; i < owners.size(); ++i)
      if (owners[i] != kNone) want_y[i] = x[owners[i]], want_dx[owners[i]] = dy[i];

    const GuardedBuffer<float> in_x(x, c.offset), in_dy(dy, c.offset);
    const GuardedBuffer<int32_t> indices(drawn.indices, c.offset);
    GuardedBuffer<float> y(c.x_size(), c.offset), dx(c.y_size(), c.offset);
    ASSERT_TRUE(
        ok(max_unpool(c.x_view(y.data()), c.y_view(in_x.data()), c.y_view(indices.data()), c.window, stream)))
        << c;
    EXPECT_TRUE(all_equal_bits(y.download(), want_y)) << c;
    ASSERT_TRUE(ok(max_unpool_backward(c.y_view(dx.data()), c.x_view(in_dy.data()), c.y_view(indices.data()),
                                       c.window, stream)))
        << c;
    EXPECT_TRUE(all_equal_bits(dx.download(), want_dx)) << c;
  }
  EXPECT_GT(repeated, 1000);
  EXPECT_GT(ignored, 1000);
}

// The backward passes of max pooling ignore such indices, too.
TEST(MaxPoolWithIndices, BackwardIgnoresIndicesOfNoElementOfTheWindow) {
  const Stream stream;
  std::vector<PoolCase> cases = max_pool_cases(), adaptive = adaptive_cases();
  cases.insert(cases.end(), adaptive.begin(), adaptive.end());
  for (const PoolCase& c : cases) {
    const DrawnIndices drawn = drawn_indices(c, 14);
    const std::vector<float> dy = exact_values(c.y_size(), 15);
    std::vector<double> want(static_cast<size_t>(c.x_size()));
    for (size_t i = 0; i < dy.size(); ++i)
      if (drawn.elements[i] != kNone) want[drawn.elements[i]] += dy[i];
    const GuardedBuffer<float> in(dy, c.offset);
    const GuardedBuffer<int32_t> indices(drawn.indices, c.offset);
    GuardedBuffer<float> dx(c.x_size(), c.offset);
    const auto of_dx = c.x_view(dx.data());
    const auto of_dy = c.y_view(in.data());
    const auto of_indices = c.y_view(indices.data());
    ASSERT_TRUE(ok(c.adaptive ? adaptive_max_pool_backward(of_dx, of_dy, of_indices, stream)
                              : max_pool_with_indices_backward(of_dx, of_dy, of_indices, c.window, stream)))
        << c;
    EXPECT_TRUE(all_near(dx.download(), want, 0)) << c;
  }
}

TEST(MaxUnpool, InvertsMaxPoolingOfDisjointWindows) {
  const Stream stream;
  const PoolCase c = {2, 6, 8, 4, {2, 2}};
  const std::vector<float> x = normal_values(c.x_size(), 1);
  const GuardedBuffer<float> in(x);
  GuardedBuffer<float> y(c.y_size()), back(c.x_size()), again(c.y_size());
  GuardedBuffer<int32_t> indices(c.y_size());
  ASSERT_TRUE(ok(max_pool_with_indices(c.y_view(y.data()), c.y_view(indices.data()), c.x_view(in.data()),
                                       c.window, stream)));
  ASSERT_TRUE(
      ok(max_unpool(c.x_view(back.data()), c.y_view(y.data()), c.y_view(indices.data()), c.window, stream)));
  const std::vector<float> found = back.download();
  for (size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(found[i] == x[i] || found[i] == 0);
  EXPECT_EQ(std::count(found.begin(), found.end(), 0.0f), c.x_size() - c.y_size());
  ASSERT_TRUE(ok(max_unpool_backward(c.y_view(again.data()), c.x_view(in.data()), c.y_view(indices.data()),
                                     c.window, stream)));
  EXPECT_TRUE(all_equal_bits(again.download(), y.download()));
}

TEST(MaxUnpool, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> a(std::vector<float>(16)), b(16), c(std::vector<float>(4)), d(4);
  GuardedBuffer<int32_t> index(std::vector<int32_t>(4)), found(4);
  const ImageView<float> x = {a.data(), 1, 4, 4, 1}, dx = {b.data(), 1, 4, 4, 1}, dy = {c.data(), 1, 2, 2, 1},
                         y = {d.data(), 1, 2, 2, 1}, null_x = {nullptr, 1, 4, 4, 1},
                         null_y = {nullptr, 1, 2, 2, 1};
  const ImageView<const int32_t> indices = {index.data(), 1, 2, 2, 1}, few = {index.data(), 1, 2, 1, 1};
  const ImageView<int32_t> out = {found.data(), 1, 2, 2, 1}, null_out = {nullptr, 1, 2, 2, 1};
  const PoolWindow good, bad = {0, 2, 2, 2};
  EXPECT_TRUE(
      refused(max_pool_with_indices(null_y, out, x, good, stream), "max_pool_with_indices: y is null"));
  EXPECT_TRUE(refused(max_pool_with_indices(y, null_out, x, good, stream), "indices is null"));
  EXPECT_TRUE(refused(max_pool_with_indices(y, {}, x, good, stream), "indices is 0 x 0 x 0 x 0, must be"));
  EXPECT_TRUE(refused(max_pool_with_indices(y, out, null_x, good, stream), "x is null"));
  EXPECT_TRUE(refused(max_pool_with_indices(y, out, x, bad, stream), "the window's height is 0"));
  EXPECT_TRUE(refused(max_pool_with_indices_backward(null_x, dy, indices, good, stream), "dx is null"));
  EXPECT_TRUE(refused(max_pool_with_indices_backward(dx, null_y, indices, good, stream), "dy is null"));
  EXPECT_TRUE(refused(max_pool_with_indices_backward(dx, dy, null_out, good, stream), "indices is null"));
  EXPECT_TRUE(refused(max_pool_with_indices_backward(dx, dy, few, good, stream),
                      "max_pool_with_indices_backward: indices is 1 x 2 x 1 x 1, must be"));
  EXPECT_TRUE(refused(max_pool_with_indices_backward(dx, dy, indices, bad, stream), "height is 0"));
  EXPECT_TRUE(refused(max_unpool(null_x, dy, indices, good, stream), "max_unpool: y is null"));
  EXPECT_TRUE(refused(max_unpool(dx, null_y, indices, good, stream), "max_unpool: x is null"));
  EXPECT_TRUE(refused(max_unpool(dx, dy, null_out, good, stream), "max_unpool: indices is null"));
  EXPECT_TRUE(refused(max_unpool(dx, dy, few, good, stream), "indices is 1 x 2 x 1 x 1, must be"));
  EXPECT_TRUE(refused(max_unpool(dx, dy, indices, bad, stream), "the window's height is 0"));
  EXPECT_TRUE(refused(max_unpool({b.data(), 1, 4, 6, 1}, dy, indices, good, stream),
                      "width of the pooled image is 2, must be 3 for an image with the width 6"));
  EXPECT_TRUE(refused(max_unpool_backward(null_y, x, indices, good, stream), "dx is null"));
  EXPECT_TRUE(refused(max_unpool_backward(y, null_x, indices, good, stream), "dy is null"));
  EXPECT_TRUE(refused(max_unpool_backward(y, x, null_out, good, stream), "indices is null"));
  EXPECT_TRUE(refused(max_unpool_backward(y, x, few, good, stream), "indices is 1 x 2 x 1 x 1, must be"));
  EXPECT_TRUE(refused(max_unpool_backward(y, x, indices, bad, stream),
                      "max_unpool_backward: the window's height is 0"));
}

}  // namespace
}  // namespace rondo::test
