// Sigmoid, GELU and their slopes against double precision.
#include <gtest/gtest.h>

#include <rondo/kernels/core/activation_functions.h>
#include <rondo/tests/kernels/core/sampled_floats.h>

#include <cmath>
#include <limits>

namespace rondo {
namespace {

using test::largest_error_of_both_signs;

constexpr double kSqrtHalf = 0.70710678118654752440, kInverseSqrtTwoPi = 0.39894228040143267794;
constexpr float kInf = std::numeric_limits<float>::infinity();

double exact_below(double x) { return 0.5 * std::erfc(-x * kSqrtHalf); }
double exact_gelu_slope(double x) { return exact_below(x) + x * kInverseSqrtTwoPi * std::exp(-0.5 * x * x); }
double exact_argument(double x) { return 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }
double exact_sigmoid(double x) { return x > 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double exact_tanh_slope(double x) {
  const double s = exact_sigmoid(exact_argument(x));
  return s + x * s * (1 - s) * 2 * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

// Relative to the exact value; results below the normal numbers do not count.
template <class Function, class Exact>
auto relative(Function function, Exact exact) {
  return [=](float x) {
    const double want = exact(double{x});
    if (std::abs(want) < 0x1p-125) return std::abs(function(x)) <= 0x1p-124f ? 0.0 : 1.0;
    return std::abs(function(x) - want) / std::abs(want);
  };
}

TEST(ActivationFunctions, Sigmoid) {
  EXPECT_LT(largest_error_of_both_signs(100, relative(sigmoid_of, exact_sigmoid)), 0x1p-21);
  EXPECT_EQ(sigmoid_of(0), 0.5f);
  EXPECT_EQ(sigmoid_of(kInf), 1.0f);
  EXPECT_EQ(sigmoid_of(-kInf), 0.0f);
  EXPECT_TRUE(std::isnan(sigmoid_of(NAN)));
}

TEST(ActivationFunctions, Tanh) {
  EXPECT_LT(largest_error_of_both_signs(100, relative(tanh_of, [](double x) { return std::tanh(x); })),
            0x1p-21);
  for (const float x : {0.0f, -0.0f}) EXPECT_EQ(std::signbit(tanh_of(x)), std::signbit(x));
  EXPECT_EQ(tanh_of(0), 0.0f);
  EXPECT_EQ(tanh_of(kInf), 1.0f);
  EXPECT_EQ(tanh_of(-kInf), -1.0f);
  EXPECT_TRUE(std::isnan(tanh_of(NAN)));
}

TEST(ActivationFunctions, NormalDistribution) {
  const auto below = [](float x) { return normal_distribution(x).below; };
  const auto density = [](float x) { return normal_distribution(x).density; };
  EXPECT_LT(largest_error_of_both_signs(14, relative(below, exact_below)), 0x1p-21);
  EXPECT_LT(
      largest_error_of_both_signs(14, relative(density, [](double x) { return std::exp(-0.5 * x * x); })),
      0x1p-21);
  EXPECT_EQ(below(0), 0.5f);
}

TEST(ActivationFunctions, Gelu) {
  EXPECT_LT(largest_error_of_both_signs(20, relative(gelu_of, [](double x) { return x * exact_below(x); })),
            0x1p-21);
  EXPECT_LT(largest_error_of_both_signs(
                20, [](float x) { return std::abs(gelu_slope(x) - exact_gelu_slope(double{x})); }),
            0x1p-21);
  for (const auto function : {gelu_of, gelu_tanh_of}) {
    EXPECT_EQ(function(0), 0.0f);
    EXPECT_EQ(function(kInf), kInf);
    EXPECT_EQ(function(-kInf), 0.0f);
    EXPECT_EQ(function(1000), 1000.0f);
    EXPECT_TRUE(std::isnan(function(NAN)));
  }
  for (const auto slope : {gelu_slope, gelu_tanh_slope}) {
    EXPECT_EQ(slope(0), 0.5f);
    EXPECT_EQ(slope(kInf), 1.0f);
    EXPECT_EQ(slope(-kInf), 0.0f);
    EXPECT_TRUE(std::isnan(slope(NAN)));
  }
}

TEST(ActivationFunctions, GeluByTanh) {
  const auto exact = [](double x) { return x * exact_sigmoid(exact_argument(x)); };
  EXPECT_LT(largest_error_of_both_signs(20,
                                        [&](float x) {
                                          const double allowed =
                                              0x1p-21 + 0x1p-22 * std::abs(exact_argument(double{x}));
                                          return relative(gelu_tanh_of, exact)(x) / allowed;
                                        }),
            1);
  EXPECT_LT(largest_error_of_both_signs(
                20, [](float x) { return std::abs(gelu_tanh_slope(x) - exact_tanh_slope(double{x})); }),
            0x1p-21);
}

}  // namespace
}  // namespace rondo
