#include <gtest/gtest.h>

#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/reduce/count_differences.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace rondo::test {
namespace {

struct Case {
  int64_t rows, cols, stride;
  int offset;
};

struct ColumnSums {
  std::vector<double> sum, magnitude;
};

ColumnSums column_sums(const std::vector<float>& x, const Case& c) {
  ColumnSums sums = {std::vector<double>(static_cast<size_t>(c.cols)),
                     std::vector<double>(static_cast<size_t>(c.cols))};
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < c.cols; ++j) {
      const double value = x[static_cast<size_t>(i * c.stride + j)];
      sums.sum[static_cast<size_t>(j)] += value;
      sums.magnitude[static_cast<size_t>(j)] += std::abs(value);
    }
  return sums;
}

std::vector<float> bias_gradient_of(const std::vector<float>& x, const Case& c, const std::vector<float>& db,
                                    float beta) {
  const Stream stream;
  const GuardedBuffer<float> dy(x, c.offset);
  GuardedBuffer<float> result(db, c.offset);
  GuardedBuffer<unsigned char> workspace(bias_gradient_workspace_bytes(c.rows, c.cols));
  EXPECT_TRUE(ok(bias_gradient(result.view(), dy.matrix(c.rows, c.cols, c.stride), beta,
                               workspace.workspace(), stream)));
  return result.download();
}

const std::vector<Case> kCases = {
    {0, 7, 7, 0},        {1, 1, 1, 0},        {1, 10, 10, 1},   {31, 10, 10, 0},  {32, 20, 20, 0},
    {33, 20, 24, 0},     {511, 50, 50, 2},    {512, 50, 51, 0}, {513, 50, 50, 0}, {1024, 128, 128, 0},
    {1025, 128, 129, 3}, {700, 31, 33, 1},    {700, 32, 32, 1}, {700, 33, 33, 0}, {2000, 512, 512, 0},
    {16385, 3, 3, 0},    {20'000, 20, 20, 0}, {600, 0, 0, 0},
};

// Inputs whose sums are exact in any order: every element of the matrix must count exactly once.
TEST(BiasGradient, ExactSums) {
  for (const Case& c : kCases) {
    std::vector<float> x = exact_values(c.rows * c.stride, 1);
    // The gaps between the rows are not part of the matrix.
    for (int64_t i = 0; i < c.rows; ++i)
      for (int64_t j = c.cols; j < c.stride; ++j) x[static_cast<size_t>(i * c.stride + j)] = NAN;
    const std::vector<float> db(static_cast<size_t>(c.cols), NAN);  // must not be read
    EXPECT_TRUE(all_near(bias_gradient_of(x, c, db, 0), column_sums(x, c).sum, 0))
        << c.rows << " x " << c.cols << " stride " << c.stride << " offset " << c.offset;
  }
}

TEST(BiasGradient, ErrorIsWithinItsBound) {
  for (const Case& c : kCases) {
    const std::vector<float> x = normal_values(c.rows * c.stride, 2);
    const ColumnSums want = column_sums(x, c);
    const double additions = static_cast<double>(c.rows) / 16384 + 80;
    EXPECT_TRUE(all_within(bias_gradient_of(x, c, std::vector<float>(static_cast<size_t>(c.cols)), 0),
                           want.sum, [&](size_t j) { return additions * 0x1p-24 * want.magnitude[j]; }))
        << c.rows << " x " << c.cols;
  }
}

TEST(BiasGradient, BetaAddsToTheOldValue) {
  for (const Case& c : {Case{0, 3, 3, 0}, Case{100, 20, 20, 0}, Case{1000, 20, 20, 1}, Case{100, 300, 300, 0},
                        Case{1000, 300, 301, 1}}) {
    const std::vector<float> x = exact_values(c.rows * c.stride, 3), db = exact_values(c.cols, 4);
    std::vector<double> want = column_sums(x, c).sum;
    for (size_t j = 0; j < want.size(); ++j) want[j] += -0.5 * db[j];
    EXPECT_TRUE(all_near(bias_gradient_of(x, c, db, -0.5f), want, 0)) << c.rows;
  }
}

// The order of the sum must not depend on the width of the loads.
TEST(BiasGradient, SameBitsAtAnyAlignment) {
  const std::vector<float> x = normal_values(3000 * 20, 5), db(20);
  const std::vector<float> aligned = bias_gradient_of(x, {3000, 20, 20, 0}, db, 0);
  for (const int offset : {1, 2, 3})
    EXPECT_TRUE(all_equal_bits(bias_gradient_of(x, {3000, 20, 20, offset}, db, 0), aligned)) << offset;
}

TEST(BiasGradient, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> db(4), dy(4 * 600);
  GuardedBuffer<float> memory(2 * 4);
  const Workspace none;
  const MatrixView<const float> good = {dy.data(), 10, 4, 4}, tall = {dy.data(), 600, 4, 4};
  EXPECT_EQ(bias_gradient_workspace_bytes(600, 4), memory.workspace().bytes);
  EXPECT_EQ(bias_gradient_workspace_bytes(512, 4), 0);
  EXPECT_TRUE(refused(bias_gradient({nullptr, 4}, good, 0, none, stream), "bias_gradient: db is null"));
  EXPECT_TRUE(refused(bias_gradient({db.data(), -4}, good, 0, none, stream), "db.size is -4"));
  EXPECT_TRUE(
      refused(bias_gradient({db.data(), 3}, good, 0, none, stream), "db.size is 3, must be dy.cols = 4"));
  EXPECT_TRUE(
      refused(bias_gradient(db.view(), MatrixView<float>{nullptr, 10, 4, 4}, 0, none, stream), "dy is null"));
  EXPECT_TRUE(refused(bias_gradient(db.view(), {dy.data(), -1, 4, 4}, 0, none, stream), "dy is -1 x 4"));
  EXPECT_TRUE(refused(bias_gradient(db.view(), {dy.data(), 10, 4, 3}, 0, none, stream), "dy.stride is 3"));
  EXPECT_TRUE(refused(bias_gradient(db.view(), tall, 0, none, stream), "must have at least 32"));
  EXPECT_TRUE(refused(bias_gradient(db.view(), tall, 0, {memory.data(), 31}, stream), "has 31 bytes"));
  EXPECT_TRUE(refused(bias_gradient(db.view(), tall, 0, {nullptr, 32}, stream), "workspace is null"));
  EXPECT_TRUE(
      refused(bias_gradient(db.view(), tall, 0, {reinterpret_cast<char*>(memory.data()) + 1, 32}, stream),
              "must be aligned to 16"));
  const int64_t wide = 1 << 21;
  EXPECT_TRUE(
      refused(bias_gradient({db.data(), wide}, {dy.data(), 0, wide, wide}, 0, none, stream), "dy.cols is"));
}

TEST(CountDifferences, CountsEveryDifference) {
  const Stream stream;
  for (const int64_t size : {0, 1, 7, 2048, 2049, 5001, 1 << 17, (1 << 17) + 1}) {
    const std::vector<float> a = normal_values(size, 1);
    std::vector<float> b = a;
    unsigned long long want = 7;
    for (size_t i = 0; i < b.size(); i += 3) {
      b[i] = std::nextafter(b[i], 9.0f);
      ++want;
    }
    const GuardedBuffer<float> in_a(a, 1), in_b(b, 2);
    GuardedBuffer<unsigned long long> count(std::vector<unsigned long long>{7});
    ASSERT_TRUE(ok(count_differences(count.view(), {in_a.data(), size}, {in_b.data(), size}, stream)));
    EXPECT_EQ(count.download()[0], want) << size;
  }
}

// Each pair alone, so that two mistakes cannot cancel: -0 equals 0 and NaN does not equal NaN as floats.
TEST(CountDifferences, ComparesBits) {
  const Stream stream;
  const float other_nan = std::bit_cast<float>(std::bit_cast<uint32_t>(float{NAN}) ^ 1u);
  const struct {
    float a, b;
    unsigned long long differences;
  } pairs[] = {{0.0f, -0.0f, 1}, {NAN, NAN, 0},           {NAN, other_nan, 1}, {NAN, -NAN, 1},
               {1.0f, 1.0f, 0},  {-0.0f, -0.0f, 0},       {NAN, 1.0f, 1},      {INFINITY, INFINITY, 0},
               {1.0f, -1.0f, 1}, {INFINITY, -INFINITY, 1}};
  for (const auto& pair : pairs) {
    const GuardedBuffer<float> a(std::vector{pair.a}), b(std::vector{pair.b});
    GuardedBuffer<unsigned long long> count(std::vector<unsigned long long>{0});
    ASSERT_TRUE(ok(count_differences(count.view(), {a.data(), 1}, {b.data(), 1}, stream)));
    EXPECT_EQ(count.download()[0], pair.differences) << pair.a << " and " << pair.b;
  }
}

TEST(CountDifferences, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> a(4), b(4);
  GuardedBuffer<unsigned long long> count(1);
  EXPECT_TRUE(refused(count_differences({nullptr, 1}, a.view(), b.view(), stream), "count"));
  EXPECT_TRUE(refused(count_differences({count.data(), 2}, a.view(), b.view(), stream), "count"));
  EXPECT_TRUE(refused(count_differences(count.view(), {nullptr, 4}, b.view(), stream), "a is null"));
  EXPECT_TRUE(refused(count_differences(count.view(), a.view(), {nullptr, 4}, stream), "b is null"));
  EXPECT_TRUE(refused(count_differences(count.view(), a.view(), {b.data(), 3}, stream), "3"));
  EXPECT_TRUE(refused(count_differences(count.view(), {a.data(), -1}, {b.data(), -1}, stream), "-1"));
}

unsigned long long first_nonfinite_of(const std::vector<float>& x, int offset) {
  const Stream stream;
  const GuardedBuffer<float> in(x, offset);
  GuardedBuffer<unsigned long long> index(std::vector<unsigned long long>{5});
  EXPECT_TRUE(ok(first_nonfinite(index.view(), {in.data(), static_cast<int64_t>(x.size())}, false, stream)));
  return index.download()[0];
}

// At any position, alone or with other nonfinite elements after it.
TEST(FirstNonfinite, IsTheSmallestIndex) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const int64_t size : {1, 2, 255, 257, 2048, 2049, 7001})
    for (const float bad : {NAN, -NAN, kInfinity, -kInfinity}) {
      Random random(static_cast<uint64_t>(size));
      for (int repeat = 0; repeat < 5; ++repeat) {
        std::vector<float> x = normal_values(size, 1);
        const int64_t first = repeat == 0 ? 0 : repeat == 1 ? size - 1 : random.below(size);
        for (int64_t i = first; i < size; i += 1 + random.below(500)) x[static_cast<size_t>(i)] = bad;
        ASSERT_EQ(first_nonfinite_of(x, repeat % 4), static_cast<unsigned long long>(first)) << size;
      }
    }
}

TEST(FirstNonfinite, LargeAndTinyNumbersAreFinite) {
  using Limits = std::numeric_limits<float>;
  EXPECT_EQ(first_nonfinite_of({Limits::max(), -Limits::max(), Limits::denorm_min(), -0.0f, 0.0f}, 0),
            kAllFinite);
  EXPECT_EQ(first_nonfinite_of({}, 0), kAllFinite);
}

TEST(FirstNonfinite, WithKeepItIsTheMinimumOverCalls) {
  const Stream stream;
  GuardedBuffer<unsigned long long> index(std::vector<unsigned long long>{kAllFinite});
  const auto after = [&](const std::vector<float>& x) {
    const GuardedBuffer<float> in(x);
    EXPECT_TRUE(ok(first_nonfinite(index.view(), {in.data(), static_cast<int64_t>(x.size())}, true, stream)));
    return index.download()[0];
  };
  EXPECT_EQ(after({0, 1}), kAllFinite);
  EXPECT_EQ(after({0, 1, NAN}), 2u);
  EXPECT_EQ(after({0, 1, 2}), 2u);
  EXPECT_EQ(after({0, 1, 2, NAN}), 2u);
  EXPECT_EQ(after({0, NAN}), 1u);
}

TEST(FirstNonfinite, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> x(4);
  GuardedBuffer<unsigned long long> index(2);
  EXPECT_TRUE(refused(first_nonfinite({index.data(), 2}, x.view(), false, stream), "index.size is 2"));
  EXPECT_TRUE(refused(first_nonfinite({nullptr, 1}, x.view(), false, stream), "index is null"));
  EXPECT_TRUE(
      refused(first_nonfinite({index.data(), 1}, VectorView<float>{nullptr, 4}, false, stream), "x is null"));
  EXPECT_TRUE(refused(first_nonfinite({index.data(), 1}, {x.data(), -1}, false, stream), "x.size is -1"));
}

}  // namespace
}  // namespace rondo::test
