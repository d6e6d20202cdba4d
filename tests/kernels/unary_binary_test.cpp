// unary() and binary(). elementwise_test.cu has all shapes, strides, alignments and kinds of broadcast; here
// each operator computes its own function, and the bits of 16-bit types are those of float32, rounded.
#include <gtest/gtest.h>

#include <rondo/kernels/core/activation_functions.h>
#include <rondo/kernels/elementwise/binary.h>
#include <rondo/kernels/elementwise/unary.h>
#include <rondo/tests/kernels/narrow_operands.h>

#include <cmath>
#include <functional>
#include <utility>

namespace rondo::test {
namespace {

const std::vector<std::pair<UnaryOperator, std::function<float(float)>>> kUnary = {
    {UnaryOperator::negate, [](float x) { return -x; }},
    {UnaryOperator::absolute, [](float x) { return std::fabs(x); }},
    {UnaryOperator::square, [](float x) { return x * x; }},
    {UnaryOperator::reciprocal, [](float x) { return 1 / x; }},
    {UnaryOperator::sqrt, [](float x) { return std::sqrt(x); }},
    {UnaryOperator::exp, exp_of},
    {UnaryOperator::log, log_of},
    {UnaryOperator::tanh, tanh_of}};

float minimum_of(float a, float b) { return std::isnan(a) ? a : std::isnan(b) ? b : std::min(b, a); }
float maximum_of(float a, float b) { return std::isnan(a) ? a : std::isnan(b) ? b : std::max(b, a); }
const std::vector<std::pair<BinaryOperator, std::function<float(float, float)>>> kBinary = {
    {BinaryOperator::add, std::plus<float>()},
    {BinaryOperator::subtract, std::minus<float>()},
    {BinaryOperator::multiply, std::multiplies<float>()},
    {BinaryOperator::divide, std::divides<float>()},
    {BinaryOperator::minimum, minimum_of},
    {BinaryOperator::maximum, maximum_of}};

// Equal bits; all NaN are equal.
testing::AssertionResult same(Floats got, Floats want) {
  for (Floats* const values : {&got, &want})
    for (float& value : *values)
      if (std::isnan(value)) value = NAN;
  return all_equal_bits(got, want);
}

// Every pair of these.
const Floats kSpecial = {0.0f,  -0.0f,  1.0f,  -2.5f,   kInfinity, -kInfinity, NAN,    1e-45f, -1e-45f,
                         3e38f, -3e38f, 88.8f, -104.5f, 0.3f,      -0.3f,      1e-20f, 7.0f};

TEST(Unary, ComputesItsFunction) {
  const Stream stream;
  for (const auto& [op, function] : kUnary) {
    SCOPED_TRACE(static_cast<int>(op));
    Floats x = normal_values(3000, 1);
    for (float& value : x) value *= 10;
    x.insert(x.end(), kSpecial.begin(), kSpecial.end());
    const GuardedBuffer<float> in(x);
    const int64_t size = in.size();
    GuardedBuffer<float> y(size);
    ASSERT_TRUE(ok(unary({y.data(), 1, size}, {in.data(), 1, size}, op, stream)));
    Floats want;
    for (const float value : x) want.push_back(function(value));
    EXPECT_TRUE(same(y.download(), want));
  }
}

TEST(Unary, KeepsGapsAndWorksInPlace) {
  const Stream stream;
  const Floats x = normal_values(7 * 12, 1);
  GuardedBuffer<float> memory(x);
  const MatrixView<float> view = memory.matrix(7, 9, 12);
  ASSERT_TRUE(ok(unary(view, view, UnaryOperator::square, stream)));
  Floats want = x;
  for (size_t i = 0; i < want.size(); ++i)
    if (i % 12 < 9) want[i] *= want[i];
  EXPECT_TRUE(all_equal_bits(memory.download(), want));
}

TEST(Binary, ComputesItsFunction) {
  const Stream stream;
  const auto count = static_cast<int64_t>(kSpecial.size());
  for (const auto& [op, function] : kBinary) {
    SCOPED_TRACE(static_cast<int>(op));
    // A column of all values beside a row of all values: every pair.
    Floats values = kSpecial;
    for (const float value : normal_values(60, 1)) values.push_back(value);
    const auto sides = static_cast<int64_t>(values.size());
    const GuardedBuffer<float> in(values);
    GuardedBuffer<float> y(sides * sides);
    ASSERT_TRUE(ok(binary(matrix(y.data(), sides, sides), matrix<const float>(in.data(), sides, 1),
                          matrix<const float>(in.data(), 1, sides), op, stream)));
    Floats want;
    for (const float a : values)
      for (const float b : values) want.push_back(function(a, b));
    EXPECT_TRUE(same(y.download(), want));
    // A value from the host on either side.
    for (const float value : kSpecial) {
      GuardedBuffer<float> left(count), right(count);
      const GuardedBuffer<float> x(kSpecial);
      ASSERT_TRUE(ok(binary({left.data(), 1, count}, value, {x.data(), 1, count}, op, stream)));
      ASSERT_TRUE(ok(binary({right.data(), 1, count}, {x.data(), 1, count}, value, op, stream)));
      Floats want_left, want_right;
      for (const float other : kSpecial) {
        want_left.push_back(function(value, other));
        want_right.push_back(function(other, value));
      }
      EXPECT_TRUE(same(left.download(), want_left)) << value;
      EXPECT_TRUE(same(right.download(), want_right)) << value;
    }
  }
}

TEST(Binary, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> memory(20), other(20);
  const MatrixView<float> y = matrix(memory.data(), 4, 5);
  const MatrixView<const float> a = matrix<const float>(other.data(), 4, 5);
  const auto wrong = static_cast<BinaryOperator>(6);
  EXPECT_TRUE(refused(binary(y, a, a, wrong, stream), "binary: op is the enumerator 6"));
  EXPECT_TRUE(refused(binary(y, a, {other.data(), 1, 4}, BinaryOperator::add, stream), "binary: b is 1 x 4"));
  EXPECT_TRUE(refused(binary(y, {other.data(), 3, 5}, 1, BinaryOperator::add, stream), "binary: a is 3 x 5"));
  EXPECT_TRUE(refused(binary(y, a, matrix<const float>(memory.data(), 1, 5), BinaryOperator::add, stream),
                      "binary: y overlaps b"));
  EXPECT_TRUE(refused(unary(y, {other.data(), 1, 5}, UnaryOperator::exp, stream), "unary: x is 1 x 5"));
  EXPECT_TRUE(refused(unary(y, a, static_cast<UnaryOperator>(8), stream), "unary: op is the enumerator 8"));
}

template <class Narrow>
class NarrowElementwise : public NarrowOperands<Narrow> {};
TYPED_TEST_SUITE(NarrowElementwise, NarrowTypes, NameOfType);

TYPED_TEST(NarrowElementwise, IsTheFloat32ResultRounded) {
  for (int draw = 0; draw < 96; ++draw) {
    this->aligned = draw / 24 % 2 == 0;  // all operators with accesses of every width
    const int64_t rows = 1 + this->side(40), cols = this->side(70), gap = this->random.below(2) * 8;
    const int64_t stride = (this->aligned && draw % 5 > 0 ? (cols + 7) / 8 * 8 : cols) + gap;
    auto a = this->input(rows * stride), b = this->input(rows * stride), row = this->input(cols),
         y = this->input(rows * stride);  // gaps have the same values
    const auto view = [&]<class T>(Operand<TypeParam>& operand, T) {
      return MatrixView<T>{of<T>(operand).data(), rows, cols, stride};
    };
    const auto op = kBinary[static_cast<size_t>(draw) % kBinary.size()].first;
    this->run([&](auto t) { return binary(view(y, t), view(a, t), view(b, t), op, this->stream); });
    EXPECT_TRUE(y.agrees()) << rows << " x " << cols << ", operator " << static_cast<int>(op);
    this->run([&]<class T>(T t) {
      return binary(view(y, t), {of<T>(row).data(), 1, cols}, view(b, t), op, this->stream);
    });
    EXPECT_TRUE(y.agrees()) << "a row of " << cols;
    this->run([&](auto t) { return binary(view(y, t), 0.3f, view(b, t), op, this->stream); });
    EXPECT_TRUE(y.agrees()) << "a value";
    const auto of_one = kUnary[static_cast<size_t>(draw) % kUnary.size()].first;
    this->run([&](auto t) { return unary(view(y, t), view(a, t), of_one, this->stream); });
    EXPECT_TRUE(y.agrees()) << rows << " x " << cols << ", unary operator " << static_cast<int>(of_one);
  }
}

}  // namespace
}  // namespace rondo::test
