// elementwise() with functions of the test: flat arrays, matrices with any strides, and broadcast.

#include <gtest/gtest.h>

#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/narrow.h>
#include <rondo/tests/support/status_checks.h>
#include <rondo/kernels/elementwise/elementwise.cuh>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace rondo::test {
namespace {

struct TwiceAPlusB {
  __device__ float operator()(float a, float b) const { return 2 * a + b; }
};

// Every size around the boundaries of slots, of a thread's run and of blocks, with every misalignment of each
// array.
TEST(FlatArrays, EverySizeAndMisalignment) {
  const Stream stream;
  for (const int64_t size : {0,  1,  2,    3,    4,    5,    7,    8,    9,     15,    16,    17,
                             31, 33, 1023, 1024, 1025, 4095, 4096, 4097, 65535, 65536, 65537, 200000})
    for (int offset = 0; offset < 16; ++offset) {
      if (size > 16 && offset % 5 != 0 && offset != 1) continue;
      const int out_offset = offset % 4, b_offset = offset / 4;
      const std::vector<float> a = exact_values(size, 1), b = exact_values(size, 2);
      const GuardedBuffer<float> in_a(a, out_offset), in_b(b, b_offset);
      GuardedBuffer<float> out(size, out_offset);
      ASSERT_TRUE(ok(detail::elementwise_flat("combine", stream, TwiceAPlusB{}, out.data(), size, in_a.data(),
                                              in_b.data())));
      std::vector<double> want;
      for (size_t i = 0; i < a.size(); ++i) want.push_back(2.0 * a[i] + b[i]);
      EXPECT_TRUE(all_near(out.download(), want, 0))
          << "size " << size << ", offsets " << out_offset << ' ' << b_offset;
    }
}

TEST(FlatArrays, InPlace) {
  const Stream stream;
  const std::vector<float> a = exact_values(5000, 1), b = exact_values(5000, 2);
  GuardedBuffer<float> out(a, 3);
  const GuardedBuffer<float> in_b(b, 3);
  ASSERT_TRUE(ok(detail::elementwise_flat("combine", stream, TwiceAPlusB{}, out.data(), out.size(),
                                          out.data(), in_b.data())));
  std::vector<double> want;
  for (size_t i = 0; i < a.size(); ++i) want.push_back(2.0 * a[i] + b[i]);
  EXPECT_TRUE(all_near(out.download(), want, 0));
}

// What an input has: all elements, a row for all rows, a column for all columns, or one element.
enum class Kind { whole, row, column, one, value };
constexpr Kind kKinds[] = {Kind::whole, Kind::row, Kind::column, Kind::one, Kind::value};

// A matrix in guarded memory, of which the elements between the rows must not change.
template <class T>
struct Matrix {
  Matrix(int64_t rows, int64_t cols, int64_t gap, int64_t offset, uint64_t seed)
      : rows(rows),
        cols(cols),
        stride(cols + gap),
        values(floats(rows * stride, seed)),
        memory(values, offset) {}
  static std::vector<T> floats(int64_t size, uint64_t seed) { return rounded<T>(exact_values(size, seed)); }
  MatrixView<T> view() { return memory.matrix(rows, cols, stride); }
  float at(int64_t i, int64_t j) const {
    return static_cast<float>(
        values[static_cast<size_t>((rows == 1 ? 0 : i) * stride + (cols == 1 ? 0 : j))]);
  }

  int64_t rows, cols, stride;
  std::vector<T> values;
  GuardedBuffer<T> memory;
};

template <class T>
Matrix<T> input_of(Kind kind, int64_t rows, int64_t cols, Random& random, bool aligned, uint64_t seed) {
  const bool one_row = kind == Kind::row || kind == Kind::one,
             one_col = kind == Kind::column || kind == Kind::one;
  const int64_t gap = aligned ? 8 * random.below(2) + (one_col ? 7 : (8 - cols % 8) % 8) : random.below(10);
  return {one_row ? 1 : rows, one_col ? 1 : cols, gap, aligned ? 0 : random.below(9), seed};
}

template <class Output, class A, class B>
void expect_broadcast(int64_t rows, int64_t cols, Kind of_a, Kind of_b, bool aligned, bool in_place,
                      Random& random) {
  SCOPED_TRACE(concat(rows, " x ", cols, ", inputs ", static_cast<int>(of_a), " and ", static_cast<int>(of_b),
                      aligned ? ", aligned" : "", in_place ? ", in place" : ""));
  const Stream stream;
  Matrix<A> a = input_of<A>(of_a, rows, cols, random, aligned, 1);
  Matrix<B> b = input_of<B>(of_b, rows, cols, random, aligned, 2);
  Matrix<Output> apart = input_of<Output>(Kind::whole, rows, cols, random, aligned, 3);
  constexpr float kValue = 0.375f;
  const auto at = [&](const auto& matrix, Kind kind, int64_t i, int64_t j) {
    return kind == Kind::value ? kValue : matrix.at(i, j);
  };
  std::vector<Output> want = apart.values;
  if constexpr (std::is_same_v<Output, A>)
    if (in_place) want = a.values;
  const int64_t stride = in_place ? a.stride : apart.stride;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      want[static_cast<size_t>(i * stride + j)] =
          static_cast<Output>(2 * at(a, of_a, i, j) + at(b, of_b, i, j));
  MatrixView<Output> y = apart.view();
  if constexpr (std::is_same_v<Output, A>)
    if (in_place) y = a.view();
  // nvcc warns where the result is assigned.
  const auto combine = [&](const auto& operands) -> Status {
    return elementwise("combine", y, operands, TwiceAPlusB{}, stream);
  };
  if (of_a == Kind::value && of_b == Kind::value)
    ASSERT_TRUE(ok(combine(inputs(kValue, kValue))));
  else if (of_a == Kind::value)
    ASSERT_TRUE(ok(combine(inputs(kValue, b.view()))));
  else if (of_b == Kind::value)
    ASSERT_TRUE(ok(combine(inputs(a.view(), kValue))));
  else
    ASSERT_TRUE(ok(combine(inputs(a.view(), b.view()))));
  if constexpr (std::is_same_v<Output, A>)
    if (in_place) {
      EXPECT_TRUE(all_equal_bits(a.memory.download(), want));
      return;
    }
  EXPECT_TRUE(all_equal_bits(apart.memory.download(), want));
}

template <class Output, class A, class B>
void expect_all_kinds(uint64_t seed) {
  Random random(seed);
  constexpr int64_t kSides[] = {1, 2, 3, 7, 8, 9, 16, 17, 31, 33, 64, 130};
  for (int draw = 0; draw < 400; ++draw) {
    const int64_t rows = draw % 20 == 0 ? 0 : kSides[random.below(12)],
                  cols = draw % 27 == 1 ? 0 : kSides[random.below(12)] + (draw % 9 == 0 ? 500 : 0);
    const Kind of_a = kKinds[random.below(5)], of_b = kKinds[random.below(5)];
    const bool in_place = std::is_same_v<Output, A> && of_a == Kind::whole && random.below(2) == 0;
    expect_broadcast<Output, A, B>(rows, cols, of_a, of_b, random.below(2) == 0, in_place, random);
  }
  // Several blocks down, across, and both.
  for (const auto& [rows, cols] :
       {std::pair<int64_t, int64_t>{20'000, 3}, {5000, 40}, {1, 70'001}, {3, 40'000}, {67, 2000}})
    for (const Kind of_b : kKinds)
      for (const bool aligned : {false, true})
        expect_broadcast<Output, A, B>(rows, cols, Kind::whole, of_b, aligned, false, random);
  // Arrays of floats have the kernels of values.
  for (int draw = 0; draw < 40; ++draw) {
    const bool aligned = draw % 2 == 0;
    expect_broadcast<Output, A, float>(3, 64, Kind::whole, Kind::whole, aligned, false, random);
    expect_broadcast<Output, float, B>(3, 64, Kind::whole, Kind::whole, aligned, false, random);
    expect_broadcast<Output, float, float>(3, 64, Kind::whole, Kind::whole, aligned, false, random);
  }
}

TEST(Elementwise, BroadcastsFloats) { expect_all_kinds<float, float, float>(1); }
TEST(Elementwise, BroadcastsBfloat16) { expect_all_kinds<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16>(2); }
TEST(Elementwise, BroadcastsFloat16) { expect_all_kinds<__half, __half, __half>(3); }
TEST(Elementwise, BroadcastsMixedTypes) {
  expect_all_kinds<__half, __half, float>(4);
  expect_all_kinds<float, __nv_bfloat16, float>(5);
  expect_all_kinds<__nv_bfloat16, float, __half>(6);
}

struct Constant {
  __device__ float operator()(float a) const { return a; }
};
struct Polynomial {
  float scale;
  __device__ float operator()(float a, float b, float c, float d, float e, float f, float g, float h) const {
    return scale * (a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h);
  }
};

// Without gaps between the rows, with gaps that allow accesses of 16 bytes, and with others.
TEST(Elementwise, TakesOneToEightInputsAndTheStateOfTheFunction) {
  const Stream stream;
  constexpr int64_t kRows = 5, kCols = 12;
  const std::vector<float> row = exact_values(kCols, 2), column = exact_values(kRows, 3);
  const GuardedBuffer<float> in_row(row), in_column(column);
  for (const int64_t stride : {kCols, kCols + 4, kCols + 1}) {
    SCOPED_TRACE(stride);
    const std::vector<float> a = exact_values(kRows * stride, 1);
    const GuardedBuffer<float> in_a(a);
    GuardedBuffer<float> y(kRows * stride);
    const MatrixView<float> to = y.matrix(kRows, kCols, stride);
    const MatrixView<const float> from = in_a.matrix(kRows, kCols, stride);
    const auto expect = [&](auto value_at) {
      const std::vector<float> got = y.download();
      for (size_t i = 0; i < kRows; ++i)
        for (size_t j = 0; j < kCols; ++j) {
          const size_t at = i * static_cast<size_t>(stride) + j;
          EXPECT_EQ(got[at], value_at(a[at], row[j], column[i])) << i << ", " << j;
        }
    };
    ASSERT_TRUE(ok(elementwise("one", to, inputs(from), Constant{}, stream)));
    expect([](float x, float, float) { return x; });
    ASSERT_TRUE(ok(elementwise("eight", to, inputs(from, from, from, from, from, from, from, from),
                               Polynomial{0.5f}, stream)));
    expect([](float x, float, float) { return 18 * x; });
    const VectorView<const float> as_row = {in_row.data(), kCols};
    const MatrixView<const float> as_column = matrix(in_column.data(), kRows, 1);
    ASSERT_TRUE(
        ok(elementwise("eight", to, inputs(from, as_row, as_column, 0.5f, from, as_row, as_column, 0.25f),
                       Polynomial{0.5f}, stream)));
    expect([](float x, float r, float c) { return 0.5f * (6 * x + 8 * r + 10 * c + 4 * 0.5f + 8 * 0.25f); });
  }
}

// An extended lambda may not be in the body of a test, which is private.
Status subtract_by_lambda(VectorView<float> y, VectorView<const float> a, VectorView<const float> b,
                          float weight, cudaStream_t stream) {
  return elementwise(
      "lambda", y, inputs(a, b), [=] __device__(float x, float other) { return weight * x - other; }, stream);
}

TEST(Elementwise, TakesALambdaAndVectors) {
  const Stream stream;
  for (const int64_t size : {0, 1, 1001, 1024})
    for (const int64_t size_of_b : {size, int64_t{1}}) {
      SCOPED_TRACE(concat(size, " and ", size_of_b));
      const int64_t offset = size % 4;
      const std::vector<float> a = exact_values(size, 1), b = exact_values(size_of_b, 2);
      const GuardedBuffer<float> in_a(a, offset), in_b(b, offset);
      GuardedBuffer<float> y(size, offset);
      ASSERT_TRUE(ok(subtract_by_lambda(y.view(), {in_a.data(), size}, {in_b.data(), size_of_b}, 2, stream)));
      std::vector<float> want;
      for (size_t i = 0; i < a.size(); ++i) want.push_back(2 * a[i] - b[size_of_b == 1 ? 0 : i]);
      EXPECT_TRUE(all_equal_bits(y.download(), want));
    }
}

// A value is not rounded to the type of the elements.
TEST(Elementwise, KeepsTheBitsOfAValue) {
  const Stream stream;
  const GuardedBuffer<__nv_bfloat16> x(std::vector<__nv_bfloat16>{__nv_bfloat16(0.0f)});
  GuardedBuffer<float> y(1);
  ASSERT_TRUE(
      ok(elementwise("value", y.view(), inputs(VectorView<const __nv_bfloat16>{x.data(), 1}, 1.00001f),
                     TwiceAPlusB{}, stream)));
  EXPECT_EQ(y.download()[0], 1.00001f);
}

// The same memory as another type: 2 x 64 values of 2 bytes, and a row of 64 floats.
TEST(Elementwise, InPlaceNeedsElementsOfOneSize) {
  GuardedBuffer<float> memory(64);
  const Stream stream;
  const MatrixView<__half> y = {reinterpret_cast<__half*>(memory.data()), 2, 64, 64};
  const MatrixView<const float> row = {memory.data(), 1, 64, 64};
  EXPECT_TRUE(refused(elementwise("combine", y, inputs(row, 1.0f), TwiceAPlusB{}, stream),
                      "combine: y overlaps input 0, must have elements of its size or lie apart"));
}

TEST(Elementwise, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> memory(100), other(100);
  const MatrixView<float> y = {memory.data(), 4, 5, 6};
  const MatrixView<const float> good = {other.data(), 4, 5, 5};
  const auto run = [&](MatrixView<float> to, MatrixView<const float> a, MatrixView<const float> b) {
    return elementwise("combine", to, inputs(a, b), TwiceAPlusB{}, stream);
  };
  EXPECT_TRUE(refused(run({nullptr, 4, 5, 6}, good, good), "combine: y is null with 20 elements"));
  EXPECT_TRUE(refused(run({memory.data(), -4, 5, 6}, good, good), "combine: y is -4 x 5"));
  EXPECT_TRUE(refused(run({memory.data(), 4, 5, 4}, good, good), "combine: y.stride is 4"));
  EXPECT_TRUE(refused(run(y, {nullptr, 4, 5, 5}, good), "combine: input 0 is null"));
  EXPECT_TRUE(refused(run(y, good, {nullptr, 1, 5, 5}), "combine: input 1 is null"));
  EXPECT_TRUE(refused(run(y, good, {other.data(), 2, 5, 5}),
                      "combine: input 1 is 2 x 5, must be 4 x 5 like y, or have 1 in place of a side"));
  EXPECT_TRUE(refused(run(y, {other.data(), 4, 4, 5}, good), "combine: input 0 is 4 x 4, must be 4 x 5"));
  EXPECT_TRUE(refused(run(y, {other.data(), 0, 5, 5}, good), "combine: input 0 is 0 x 5, must be 4 x 5"));
  const auto* const misaligned =
      reinterpret_cast<const float*>(reinterpret_cast<const char*>(other.data()) + 1);
  EXPECT_TRUE(refused(run(y, good, {misaligned, 4, 5, 5}), "combine: input 1 is at"));
  EXPECT_TRUE(refused(run(y, good, {memory.data() + 1, 4, 5, 6}), "combine: y overlaps input 1"));
  EXPECT_TRUE(refused(run(y, {memory.data(), 1, 5, 5}, good), "combine: y overlaps input 0"));
  EXPECT_TRUE(refused(run(y, {memory.data(), 4, 5, 5}, good), "combine: y overlaps input 0"));
  EXPECT_TRUE(
      refused(elementwise("combine", VectorView<float>{memory.data(), 5},
                          inputs(VectorView<const float>{other.data(), 4}, 1.0f), TwiceAPlusB{}, stream),
              "combine: input 0 is 1 x 4, must be 1 x 5"));
  EXPECT_TRUE(ok(run({}, {}, {})));
}

}  // namespace
}  // namespace rondo::test
