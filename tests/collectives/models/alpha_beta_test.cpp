#include <gtest/gtest.h>

#include <rondo/collectives/models/alpha_beta.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace rondo {
namespace {

// Sizes from 1 KB to 1 GB. The relative error of every time is up to `noise`.
std::vector<TimedSize> planted(double alpha, double beta, double noise) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> factor(1 - noise, 1 + noise);
  std::vector<TimedSize> samples;
  for (double bytes = 1e3; bytes < 2e9; bytes *= 1.3)
    samples.push_back({bytes, (alpha + bytes / beta) * factor(random)});
  return samples;
}

TEST(AlphaBeta, RecoversWhatWasPlanted) {
  for (const double alpha : {1e-7, 5e-6, 1e-3})
    for (const double beta : {1e9, 370e9, 4e12}) {
      AlphaBetaFit result;
      ASSERT_TRUE(fit(planted(alpha, beta, 0), result).ok());
      EXPECT_NEAR(result.alpha / alpha, 1, 1e-6);
      EXPECT_NEAR(result.beta / beta, 1, 1e-6);
      EXPECT_LT(result.residual, 1e-9);
      EXPECT_NEAR(result.seconds(1e6), alpha + 1e6 / beta, 1e-12);
    }
}

TEST(AlphaBeta, RecoversItFromNoise) {
  AlphaBetaFit result;
  ASSERT_TRUE(fit(planted(6e-6, 25e9, 0.1), result).ok());
  EXPECT_NEAR(result.alpha / 6e-6, 1, 0.04);
  EXPECT_NEAR(result.beta / 25e9, 1, 0.04);
  EXPECT_NEAR(result.residual, 0.1 / std::sqrt(3.0), 0.015);  // of a uniform distribution
}

// Computed by hand: weights 1 and 1/4 on the line through (0, 1), (0, 2) and (4, 2), (4, 2).
TEST(AlphaBeta, WeighsEachSampleByItsOwnTime) {
  AlphaBetaFit result;
  const std::vector<TimedSize> samples = {{0, 1}, {0, 2}, {4, 2}, {4, 2}};
  ASSERT_TRUE(fit(samples, result).ok());
  EXPECT_NEAR(result.alpha, 1.2, 1e-12);  // (1 * 1 + 2 / 4) / (1 + 1 / 4), not 1.5
  EXPECT_NEAR(result.beta, 5, 1e-12);
  EXPECT_NEAR(result.residual, std::sqrt((0.2 * 0.2 + 0.4 * 0.4) / 4), 1e-12);
}

TEST(AlphaBeta, NothingComesOutNegative) {
  AlphaBetaFit result;
  const std::vector<TimedSize> steep = {{10, 1}, {20, 3}};  // the line would start at -1
  ASSERT_TRUE(fit(steep, result).ok());
  EXPECT_EQ(result.alpha, 0);
  EXPECT_NEAR(1 / result.beta, (10.0 / 1 + 20.0 / 3) / (100.0 / 1 + 400.0 / 9), 1e-12);
  const std::vector<TimedSize> falling = {{10, 2}, {20, 1}};
  ASSERT_TRUE(fit(falling, result).ok());
  EXPECT_TRUE(std::isinf(result.beta));
  EXPECT_NEAR(result.alpha, (2.0 / 4 + 1.0) / (1.0 / 4 + 1), 1e-12);
  EXPECT_EQ(result.seconds(1e9), result.alpha);
}

TEST(AlphaBeta, BadSamples) {
  AlphaBetaFit result{.alpha = 7};
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::vector<TimedSize>> bad = {{},
                                                   {{1, 1}},
                                                   {{1, 1}, {1, 2}},
                                                   {{1, 1}, {-1, 1}},
                                                   {{1, 1}, {2, 0}},
                                                   {{nan, 1}, {2, 1}},
                                                   {{1, nan}, {2, 1}},
                                                   {{1, 1}, {2, infinity}}};
  for (const std::vector<TimedSize>& samples : bad)
    EXPECT_EQ(fit(samples, result).code(), StatusCode::bad_argument);
  EXPECT_EQ(result.alpha, 7) << "a bad argument has no effect";
  EXPECT_EQ(fit(bad[2], result).message(),
            "fit: there are 2 samples of 1 different sizes, must be at least two sizes");
}

}  // namespace
}  // namespace rondo
