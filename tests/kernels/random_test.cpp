#include <gtest/gtest.h>

#include <rondo/kernels/random/normal.h>
#include <rondo/kernels/random/philox.h>
#include <rondo/kernels/random/random.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace rondo::test {
namespace {

void expect_block(PhiloxBlock got, PhiloxBlock want) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(got.v[i], want.v[i]) << "word " << i;
}

// The known answers of Random123, the reference implementation by the paper's authors.
TEST(Philox, KnownAnswers) {
  expect_block(philox4x32_10({{0, 0, 0, 0}}, 0), {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}});
  expect_block(philox4x32_10({{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}}, 0xffffffffffffffff),
               {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}});
  expect_block(philox4x32_10({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0x299f31d0a4093822),
               {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}});
}

TEST(Philox, SeedSequenceAndIndexEachHave64Bits) {
  const uint64_t high = uint64_t{1} << 32;
  expect_block(philox_block(5 + 6 * high, 3 + 4 * high, 1 + 2 * high),
               philox4x32_10({{1, 2, 3, 4}}, 5 + 6 * high));
}

std::vector<float> uniform(int64_t size, float low, float high, RandomStream random, int offset = 0) {
  const Stream stream;
  GuardedBuffer<float> x(size, offset);
  EXPECT_TRUE(ok(fill_uniform(x.view(), low, high, random, stream)));
  return x.download();
}

std::vector<float> normal(int64_t size, float mean, float deviation, RandomStream random, int offset = 0) {
  const Stream stream;
  GuardedBuffer<float> x(size, offset);
  EXPECT_TRUE(ok(fill_normal(x.view(), mean, deviation, random, stream)));
  return x.download();
}

// The device must give the same bits as the host's computation from the same words, at any alignment and
// size.
TEST(FillUniform, IsTheDocumentedFunctionOfSeedSequenceAndIndex) {
  const RandomStream random = {.seed = 42, .sequence = 7};
  for (const int64_t size : {0, 1, 3, 4, 5, 1023, 1024, 1025, 5000, (1 << 15) + 1})
    for (const int offset : {0, 1, 2, 3}) {
      std::vector<float> want;
      for (int64_t i = 0; i < size; ++i) {
        const uint32_t word = philox_block(42, 7, static_cast<uint64_t>(i / 4)).v[i % 4];
        want.push_back(std::fma(static_cast<float>(word >> 8) * 0x1p-24f, 3.0f, -2.0f));
      }
      EXPECT_TRUE(all_equal_bits(uniform(size, -2, 1, random, offset), want)) << size << " offset " << offset;
    }
}

TEST(FillNormal, IsTheDocumentedFunctionOfSeedSequenceAndIndex) {
  const RandomStream random = {.seed = 42, .sequence = 7};
  for (const int64_t size : {0, 1, 2, 3, 4, 5, 1023, 1025, 5000, (1 << 15) + 1})
    for (const int offset : {0, 1, 2, 3}) {
      std::vector<float> want;
      for (int64_t i = 0; i < size; ++i) {
        const PhiloxBlock block = philox_block(42, 7, static_cast<uint64_t>(i / 4));
        const NormalPair pair = normal_pair(block.v[i % 4 / 2 * 2], block.v[i % 4 / 2 * 2 + 1]);
        want.push_back(std::fma(0.5f, i % 2 == 0 ? pair.first : pair.second, 3.0f));
      }
      EXPECT_TRUE(all_equal_bits(normal(size, 3, 0.5f, random, offset), want))
          << size << " offset " << offset;
    }
}

// Computed from the definition in rational arithmetic, rounded after every operation. These bits must never
// change, on any platform.
TEST(FillRandom, FrozenBits) {
  const std::vector<float> uniforms = uniform(4, 0, 1, {.seed = 1, .sequence = 2});
  const std::vector<float> normals = normal(4, 0, 1, {.seed = 1, .sequence = 2});
  std::vector<uint32_t> bits;
  for (const float value : uniforms) bits.push_back(__builtin_bit_cast(uint32_t, value));
  for (const float value : normals) bits.push_back(__builtin_bit_cast(uint32_t, value));
  EXPECT_EQ(bits, (std::vector<uint32_t>{0x3f673404, 0x3f0cedc5, 0x3e7c1c5c, 0x3d20afd0, 0xbedb93e6,
                                         0xbe103a07, 0x3fcfd47d, 0x3ed12a88}));
}

// The pair against the transform in double precision, for words of every size and at the boundaries of every
// branch.
TEST(NormalPair, IsWithinItsBoundOfTheExactTransform) {
  std::vector<uint32_t> words = {0, 1, 2, 0xffffffff, 0xfffffffe, 3u << 30, (3u << 30) - 1};
  for (uint32_t eighth = 0; eighth < 8; ++eighth)
    for (const uint32_t beside : {0xffffffffu, 0u, 1u}) words.push_back((eighth << 29) + beside);
  Random random(1);
  for (int i = 0; i < 100'000; ++i) words.push_back(static_cast<uint32_t>(random.next() >> (32 + i % 32)));
  double worst = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const uint32_t radius_word = words[i], angle_word = words[i * 7919 % words.size()];
    const NormalPair got = normal_pair(radius_word, angle_word);
    const double radius = std::sqrt(-2 * std::log((radius_word + 0.5) * 0x1p-32));
    const double angle = 2 * std::numbers::pi * angle_word * 0x1p-32;
    const double error = std::max(std::abs(got.first - radius * std::cos(angle)),
                                  std::abs(got.second - radius * std::sin(angle)));
    ASSERT_TRUE(error < 1e-6) << std::hex << radius_word << ' ' << angle_word << ": " << error;
    worst = std::max(worst, error);
  }
  EXPECT_GT(worst, 1e-8) << "the comparison compares nothing";
}

// Chi-square of `counts` against equal expectations, in standard deviations from its mean.
double chi_square_deviations(const std::vector<int64_t>& counts, int64_t total) {
  const double expected = static_cast<double>(total) / static_cast<double>(counts.size());
  double chi = 0;
  for (const int64_t count : counts) {
    const double distance = static_cast<double>(count) - expected;
    chi += distance * distance / expected;
  }
  const double freedom = static_cast<double>(counts.size()) - 1;
  return (chi - freedom) / std::sqrt(2 * freedom);
}

TEST(FillUniform, IsUniformInItsInterval) {
  const int64_t size = 200'000;
  std::vector<int64_t> counts(64);
  for (const float value : uniform(size, 0, 1, {.seed = 3})) {
    ASSERT_TRUE(value >= 0 && value < 1) << value;
    ++counts[static_cast<size_t>(value * 64)];
  }
  EXPECT_LT(std::abs(chi_square_deviations(counts, size)), 4);
}

TEST(FillNormal, HasTheDistribution) {
  const int64_t size = 200'000;
  std::vector<int64_t> counts(64);  // cells of equal probability
  for (const float value : normal(size, 0, 1, {.seed = 4})) {
    const double below = 0.5 * std::erfc(-value / std::numbers::sqrt2);
    ++counts[std::min<size_t>(63, static_cast<size_t>(below * 64))];
  }
  EXPECT_LT(std::abs(chi_square_deviations(counts, size)), 4);
}

// Adjacent values, and streams with adjacent seeds or sequences, are uncorrelated.
TEST(FillNormal, StreamsAndNeighboursAreIndependent) {
  const int64_t size = 100'000;
  const std::vector<float> a = normal(size, 0, 1, {.seed = 5, .sequence = 0});
  const auto correlation = [&](const std::vector<float>& x, const std::vector<float>& y, size_t shift) {
    double sum = 0;
    for (size_t i = 0; i + shift < x.size(); ++i) sum += static_cast<double>(x[i]) * y[i + shift];
    return sum / std::sqrt(static_cast<double>(size));  // standard normal when independent
  };
  EXPECT_LT(std::abs(correlation(a, normal(size, 0, 1, {.seed = 6, .sequence = 0}), 0)), 4.5);
  EXPECT_LT(std::abs(correlation(a, normal(size, 0, 1, {.seed = 5, .sequence = 1}), 0)), 4.5);
  for (size_t shift = 1; shift <= 8; ++shift) EXPECT_LT(std::abs(correlation(a, a, shift)), 4.5) << shift;
}

TEST(FillRandom, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> x(4);
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(refused(fill_uniform({nullptr, 4}, 0, 1, {}, stream), "fill_uniform: x is null"));
  EXPECT_TRUE(refused(fill_uniform({x.data(), -1}, 0, 1, {}, stream), "x.size is -1"));
  EXPECT_TRUE(refused(fill_uniform(x.view(), 1, 0, {}, stream), "the interval is [1, 0)"));
  EXPECT_TRUE(refused(fill_uniform(x.view(), nan, 0, {}, stream), "the interval is"));
  EXPECT_TRUE(refused(fill_uniform(x.view(), -inf, 0, {}, stream), "the interval is"));
  EXPECT_TRUE(refused(fill_uniform(x.view(), -3e38f, 3e38f, {}, stream), "must be finite"));
  EXPECT_TRUE(refused(fill_normal({nullptr, 4}, 0, 1, {}, stream), "fill_normal: x is null"));
  EXPECT_TRUE(refused(fill_normal({x.data(), -1}, 0, 1, {}, stream), "x.size is -1"));
  EXPECT_TRUE(refused(fill_normal(x.view(), 0, -1, {}, stream), "the standard deviation -1"));
  EXPECT_TRUE(refused(fill_normal(x.view(), inf, 1, {}, stream), "the mean is inf"));
  EXPECT_TRUE(refused(fill_normal(x.view(), 0, nan, {}, stream), "the standard deviation nan"));
  EXPECT_TRUE(ok(fill_uniform({nullptr, 0}, 0, 1, {}, stream)));
  EXPECT_TRUE(ok(fill_normal({nullptr, 0}, 0, 1, {}, stream)));
}

}  // namespace
}  // namespace rondo::test
