#include <gtest/gtest.h>

#include <rondo/kernels/random/dropout.h>
#include <rondo/kernels/random/philox.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <cmath>

namespace rondo::test {
namespace {

struct Layer {
  uint64_t seed = 5;
  uint32_t layer = 3;
  int64_t step = 0;
  float probability = 0.3f;

  std::vector<float> operator()(const std::vector<float>& x, int64_t first = 0, int64_t offset = 0) const {
    const Stream stream;
    const GuardedBuffer<float> in(x, offset);
    GuardedBuffer<float> out(static_cast<int64_t>(x.size()), offset);
    GuardedBuffer<int64_t> counter(std::vector<int64_t>{step});
    EXPECT_TRUE(ok(dropout(out.view(), {in.data(), in.size()}, probability,
                           {seed, layer, counter.data(), first}, stream)));
    return out.download();
  }
};

// The device must match the host's computation from the same random words, at any size, alignment and shard.
TEST(Dropout, IsTheDocumentedFunction) {
  const Layer layer = {.step = (int64_t{7} << 32) + 11};
  for (const int64_t size : {0, 1, 3, 4, 5, 1023, 1025, 5000})
    for (const int64_t first : {0, 1, 2, 3, 4, 1001})
      for (const int64_t offset : {0, 1, 3}) {
        const std::vector<float> x = normal_values(size, 1);
        std::vector<float> want;
        for (int64_t i = 0; i < size; ++i) {
          const int64_t index = first + i;
          const uint32_t word =
              philox_block(5, (uint64_t{3} << 32) + 11, static_cast<uint64_t>(index / 4)).v[index % 4];
          const bool dropped = static_cast<float>(word >> 8) * 0x1p-24f < 0.3f;
          want.push_back(dropped ? 0 : x[static_cast<size_t>(i)] * (1.0f / (1.0f - 0.3f)));
        }
        ASSERT_TRUE(all_equal_bits(layer(x, first, offset), want)) << size << ", " << first << ", " << offset;
      }
}

// Element 42 733 920 has the smallest random word of all, 0 after the shift, which is not below 0.
TEST(Dropout, KeepsEverythingWithProbability0) {
  constexpr int64_t kFirst = 42'733'920;
  ASSERT_EQ(philox_block(7, (uint64_t{3} << 32) + 5, kFirst / 4).v[0] >> 8, 0u);
  const std::vector<float> x = normal_values(4, 1);
  EXPECT_TRUE(all_equal_bits(Layer{.seed = 7, .step = 5, .probability = 0}(x, kFirst), x));
  EXPECT_EQ((Layer{.seed = 7, .step = 5, .probability = 0x1p-24f}(x, kFirst)[0]), 0.0f);
}

TEST(Dropout, DropsTheGivenShareAndKeepsTheMean) {
  constexpr int64_t kSize = 100'000;
  const std::vector<float> y = Layer()(std::vector<float>(kSize, 1));
  int64_t dropped = 0;
  double sum = 0;
  for (const float value : y) dropped += value == 0, sum += value;
  const double deviation = std::sqrt(0.3 * 0.7 * kSize);
  EXPECT_NEAR(static_cast<double>(dropped), 0.3 * kSize, 5 * deviation);
  EXPECT_NEAR(sum / kSize, 1, 5 * deviation / 0.7 / kSize);
}

// Any number of devices then trains the same network.
TEST(Dropout, AShardHasTheMaskOfTheWholeBatch) {
  const std::vector<float> x = normal_values(1000, 2), whole = Layer()(x);
  std::vector<float> joined;
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 333}, {333, 334}, {334, 1000}}) {
    const std::vector<float> shard = Layer()({x.begin() + begin, x.begin() + end}, begin);
    joined.insert(joined.end(), shard.begin(), shard.end());
  }
  EXPECT_TRUE(all_equal_bits(joined, whole));
}

TEST(Dropout, SeedLayerAndStepEachChangeTheMask) {
  const std::vector<float> x(1000, 1), mask = Layer()(x);
  EXPECT_NE(Layer{.seed = 6}(x), mask);
  EXPECT_NE(Layer{.layer = 4}(x), mask);
  EXPECT_NE(Layer{.step = 1}(x), mask);
  EXPECT_EQ(Layer()(x), mask);
}

TEST(Dropout, ADroppedNanIsZeroAndProbabilityZeroDropsNothing) {
  const std::vector<float> x(64, NAN);
  const std::vector<float> y = Layer()(x), ones = Layer()(std::vector<float>(64, 1));
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), ones[i] != 0);
  const std::vector<float> values = normal_values(77, 1);
  EXPECT_TRUE(all_equal_bits(Layer{.probability = 0}(values), values));
}

TEST(Dropout, InPlace) {
  const Stream stream;
  const std::vector<float> x = normal_values(50, 1);
  GuardedBuffer<float> data(x);
  GuardedBuffer<int64_t> step(std::vector<int64_t>{0});
  ASSERT_TRUE(ok(dropout(data.view(), data.view(), 0.3f, {5, 3, step.data(), 0}, stream)));
  EXPECT_TRUE(all_equal_bits(data.download(), Layer()(x)));
}

TEST(Dropout, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> a(4), b(4);
  GuardedBuffer<int64_t> step(std::vector<int64_t>{0});
  const DropoutStream random = {1, 0, step.data(), 0};
  EXPECT_TRUE(
      refused(dropout({a.data(), 3}, b.view(), 0.5f, random, stream), "x.size is 4, must be y.size = 3"));
  EXPECT_TRUE(refused(dropout({nullptr, 4}, b.view(), 0.5f, random, stream), "y is null"));
  EXPECT_TRUE(refused(dropout(a.view(), {nullptr, 4}, 0.5f, random, stream), "x is null"));
  EXPECT_TRUE(refused(dropout(a.view(), b.view(), 1, random, stream), "probability is 1, must be"));
  EXPECT_TRUE(refused(dropout(a.view(), b.view(), -0.5f, random, stream), "probability is -0.5"));
  EXPECT_TRUE(refused(dropout(a.view(), b.view(), NAN, random, stream), "probability is nan"));
  EXPECT_TRUE(refused(dropout(a.view(), b.view(), 0.5f, {1, 0, nullptr, 0}, stream), "random.step is null"));
  EXPECT_TRUE(
      refused(dropout(a.view(), b.view(), 0.5f, {1, 0, step.data(), -1}, stream), "random.first is -1"));
}

}  // namespace
}  // namespace rondo::test
