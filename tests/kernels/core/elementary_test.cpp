// The logarithm and the exponential against double precision.
#include <gtest/gtest.h>

#include <rondo/kernels/core/elementary.h>
#include <rondo/tests/kernels/core/sampled_floats.h>

#include <cmath>
#include <limits>

namespace rondo {
namespace {

using test::largest_error;

TEST(Elementary, ExponentialOfNegativeNumbers) {
  const auto error = [](float x) {
    const double exact = std::exp(double{x});
    return std::abs(exp_of_negative(x) - exact) / exact;
  };
  EXPECT_LT(largest_error(-0.0f, -87.3f, error), 2 * 0x1p-24);
  // Multiples of the smallest number.
  for (float x = -87.3f; x > -110; x -= 0.001f)
    EXPECT_LE(std::abs(exp_of_negative(x) - std::exp(double{x})), 0x1p-149) << x;
  EXPECT_EQ(exp_of_negative(0.0f), 1.0f);
  EXPECT_EQ(exp_of_negative(-1000.0f), 0.0f);
  EXPECT_EQ(exp_of_negative(-std::numeric_limits<float>::infinity()), 0.0f);
  EXPECT_TRUE(std::isnan(exp_of_negative(NAN)));
}

TEST(Elementary, Exponential) {
  const auto error = [](float x) {
    const double exact = std::exp(double{x});
    return std::abs(exp_of(x) - exact) / exact;
  };
  EXPECT_LT(largest_error(0.0f, 88.722f, error), 2 * 0x1p-24);
  EXPECT_LT(largest_error(-0.0f, -87.3f, error), 2 * 0x1p-24);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float x : {88.7229f, 89.0f, 1000.0f, kInfinity}) EXPECT_EQ(exp_of(x), kInfinity) << x;
  EXPECT_LT(exp_of(88.7228f), kInfinity);
  for (const float x : {-1000.0f, -kInfinity}) EXPECT_EQ(exp_of(x), 0.0f) << x;
  EXPECT_TRUE(std::isnan(exp_of(NAN)));
}

TEST(Elementary, Logarithm) {
  const auto error = [](float x) {
    const double exact = std::log(double{x});
    return exact == 0 ? std::abs(log_of(x)) : std::abs(log_of(x) - exact) / std::abs(exact);
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_LT(largest_error(0x1p-149f, std::numeric_limits<float>::max(), error), 3 * 0x1p-24);
  EXPECT_LT(largest_error(0.999f, 1.001f, error), 3 * 0x1p-24);
  EXPECT_EQ(log_of(1.0f), 0.0f);
  for (const float zero : {0.0f, -0.0f}) EXPECT_EQ(log_of(zero), -kInfinity);
  EXPECT_EQ(log_of(kInfinity), kInfinity);
  for (const float x : {-0x1p-149f, -1.0f, -kInfinity, NAN}) EXPECT_TRUE(std::isnan(log_of(x))) << x;
}

TEST(Elementary, LogarithmOfOnePlusANumber) {
  const auto error = [](float x) {
    const double exact = std::log1p(double{x});
    return std::abs(log_of_one_plus(x) - exact) / exact;
  };
  EXPECT_LT(largest_error(1e-38f, 0x1p31f, error), 3 * 0x1p-24);
  EXPECT_EQ(log_of_one_plus(0.0f), 0.0f);
  EXPECT_TRUE(std::isnan(log_of_one_plus(NAN)));
}

}  // namespace
}  // namespace rondo
