// Edge cases of the rules of reduction.h: what wraps, how often results are rounded, and how NaN and infinity
// propagate. With every algorithm.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <rondo/tests/collectives/communicator_fixture.h>

#include <bit>
#include <cmath>
#include <limits>

namespace rondo::test {
namespace {

class Numbers : public testing::TestWithParam<Algorithm> {
 protected:
  // The reduction of one vector per rank; it must be the same on all ranks.
  template <class T>
  std::vector<T> reduced(Reduction reduction, const std::vector<std::vector<T>>& inputs) const {
    CommunicatorFixture fixture(place(static_cast<int>(inputs.size()), Placement::spread));
    TypedVectors<T> data(fixture.devices, inputs);
    EXPECT_TRUE(ok(all_reduce(data.views(), {.reduction = reduction, .algorithm = GetParam()},
                              fixture.communicator, fixture.handles)));
    fixture.synchronize();
    const std::vector<T> result = data.download(0);
    for (size_t rank = 1; rank < inputs.size(); ++rank)
      EXPECT_TRUE(all_equal_bits(data.download(rank), result));
    return result;
  }
};
INSTANTIATE_TEST_SUITE_P(All, Numbers, testing::ValuesIn(kAlgorithms),
                         [](const auto& info) { return std::string(name_of(info.param)); });

template <class T>
constexpr T kLeast = std::numeric_limits<T>::lowest();
template <class T>
constexpr T kMost = std::numeric_limits<T>::max();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_P(Numbers, IntegersWrap) {
  EXPECT_EQ(reduced<int32_t>(Reduction::sum, {{kMost<int32_t>}, {1}, {5}})[0], kLeast<int32_t> + 5);
  EXPECT_EQ(reduced<int64_t>(Reduction::sum, {{kLeast<int64_t>}, {-1}, {0}})[0], kMost<int64_t>);
  EXPECT_EQ(reduced<uint8_t>(Reduction::sum, {{200}, {100}, {1}})[0], 45);
  EXPECT_EQ(reduced<int32_t>(Reduction::product, {{1 << 30}, {2}, {3}})[0], kLeast<int32_t>);
  EXPECT_EQ(reduced<uint8_t>(Reduction::product, {{16}, {17}, {3}})[0], 816 % 256);
  EXPECT_EQ(reduced<int64_t>(Reduction::product, {{int64_t{1} << 62}, {-3}, {1}})[0], int64_t{1} << 62);
}

TEST_P(Numbers, TheAverageOfIntegersDoesNotWrapAndRoundsTowardsZero) {
  using Int32 = std::vector<std::vector<int32_t>>;
  const auto average = [&](const Int32& inputs) { return reduced<int32_t>(Reduction::average, inputs); };
  EXPECT_EQ(average({{kMost<int32_t>, kLeast<int32_t>}, {kMost<int32_t>, kLeast<int32_t>}}),
            (std::vector{kMost<int32_t>, kLeast<int32_t>}));
  EXPECT_EQ(average({{-1, 1, -2}, {-1, 1, -2}, {-3, 3, -1}}), (std::vector{-1, 1, -1}));
  EXPECT_EQ(average({{-1, 1}, {0, 0}}), (std::vector{0, 0}));
  EXPECT_EQ(reduced<uint8_t>(Reduction::average, {{255, 254}, {255, 255}, {255, 255}, {254, 255}}),
            (std::vector<uint8_t>{254, 254}));
  EXPECT_EQ(reduced<uint8_t>(Reduction::average, std::vector(16, std::vector<uint8_t>{255}))[0], 255);
  const int64_t beyond_double = (int64_t{1} << 61) + 1;
  EXPECT_EQ(
      reduced<int64_t>(Reduction::average, {{beyond_double, -7}, {beyond_double, 0}, {beyond_double, 0}}),
      (std::vector<int64_t>{beyond_double, -2}));
}

TEST_P(Numbers, TheSumBelowAnAverageOfInt64Wraps) {
  EXPECT_EQ(reduced<int64_t>(Reduction::average, {{kMost<int64_t>}, {kMost<int64_t>}})[0], -1);
}

// NaN at any rank makes the result NaN, whatever the other ranks have.
template <class T>
void expect_nan(const std::vector<T>& values) {
  for (size_t i = 0; i < values.size(); ++i) EXPECT_TRUE(std::isnan(static_cast<double>(values[i]))) << i;
}
TEST_P(Numbers, NanReachesTheResult) {
  for (const Reduction reduction : kReductions) {
    SCOPED_TRACE(name_of(reduction));
    const std::vector<std::vector<float>> inputs = {
        {kNan, 1, 2}, {3, kNan, -kInfinity}, {kInfinity, 5, kNan}};
    expect_nan(reduced<float>(reduction, inputs));
    expect_nan(reduced<double>(reduction, {{kNan, 1, 2}, {3, kNan, -kInfinity}, {kInfinity, 5, kNan}}));
    expect_nan(
        reduced<__half>(reduction, {{kNan, 1.f, 2.f}, {3.f, kNan, -kInfinity}, {kInfinity, 5.f, kNan}}));
    expect_nan(reduced<__nv_bfloat16>(reduction,
                                      {{kNan, 1.f, 2.f}, {3.f, kNan, -kInfinity}, {kInfinity, 5.f, kNan}}));
  }
}

TEST_P(Numbers, InfinitiesAddUpAndCancel) {
  const auto sum =
      reduced<float>(Reduction::sum, {{kInfinity, kInfinity, 0}, {2, -kInfinity, -0.0f}, {3, 5, 0}});
  EXPECT_EQ(sum[0], kInfinity);
  EXPECT_TRUE(std::isnan(sum[1]));
  EXPECT_EQ(sum[2], 0);
  EXPECT_EQ(reduced<float>(Reduction::max, {{-kInfinity}, {-kInfinity}})[0], -kInfinity);
  EXPECT_EQ(reduced<float>(Reduction::min, {{-1, kInfinity}, {-kInfinity, kInfinity}}),
            (std::vector{-kInfinity, kInfinity}));
}

// Partial sums are fp32, so intermediate sums neither overflow nor lose small addends as they would in 16
// bits.
TEST_P(Numbers, SixteenBitsAreRoundedOnceAtTheEnd) {
  const auto half = [&](Reduction reduction, const std::vector<std::vector<__half>>& inputs) {
    return static_cast<float>(reduced<__half>(reduction, inputs)[0]);
  };
  EXPECT_EQ(half(Reduction::sum, {{60000.f}, {60000.f}, {-60000.f}, {-30000.f}}), 30000);
  EXPECT_EQ(half(Reduction::sum, {{65504.f}, {15.f}}), 65504) << "below half a step beyond the largest";
  EXPECT_EQ(half(Reduction::sum, {{65504.f}, {16.f}}), kInfinity);
  EXPECT_EQ(half(Reduction::average, {{65504.f}, {65504.f}, {65504.f}}), 65504);
  EXPECT_EQ(half(Reduction::product, {{1024.f}, {1024.f}, {0.0009765625f}}), 1024);
  EXPECT_EQ(half(Reduction::sum, {{2048.f}, {1.f}, {1.f}, {1.f}}), 2052) << "2051, to even; in fp16: 2048";
  const auto bfloat =
      reduced<__nv_bfloat16>(Reduction::sum, std::vector(9, std::vector<__nv_bfloat16>{257.f}));
  EXPECT_EQ(static_cast<float>(bfloat[0]), 2304) << "9 times 256, since 257 is 256 in bfloat16";
  const auto ones = reduced<__nv_bfloat16>(Reduction::sum, {{256.f}, {1.f}, {1.f}, {1.f}});
  EXPECT_EQ(static_cast<float>(ones[0]), 260) << "259, to even; in bfloat16: 256";
}

template <class T>
std::vector<std::vector<T>> everywhere(size_t ranks, float value) {
  return std::vector(ranks, std::vector<T>{value});
}
constexpr float kMostBfloat16 = 0x1.FEp127f;

// Not even where the sum is beyond the range of fp32.
TEST_P(Numbers, TheAverageOfSixteenBitsIsFinite) {
  const auto average = [&](auto inputs) {
    return static_cast<float>(reduced(Reduction::average, inputs)[0]);
  };
  for (const size_t ranks : {2, 3, 4, 64}) {
    SCOPED_TRACE(concat(ranks, " ranks"));
    EXPECT_EQ(average(everywhere<__half>(ranks, 40000)), 40000);
    EXPECT_EQ(average(everywhere<__half>(ranks, -65504)), -65504);
    EXPECT_EQ(average(everywhere<__nv_bfloat16>(ranks, kMostBfloat16)), kMostBfloat16);
    EXPECT_EQ(average(everywhere<__nv_bfloat16>(ranks, -kMostBfloat16)), -kMostBfloat16);
  }
  auto inputs = everywhere<__nv_bfloat16>(4, kMostBfloat16);
  inputs[2][0] = -kMostBfloat16;
  EXPECT_EQ(average(inputs), kMostBfloat16 / 2);
  EXPECT_EQ(average(everywhere<__nv_bfloat16>(3, kInfinity)), kInfinity);
  EXPECT_EQ(reduced<float>(Reduction::average, {{kMost<float>}, {kMost<float>}})[0], kInfinity);
  EXPECT_EQ(reduced<float>(Reduction::average, {{kMost<float> / 2}, {kMost<float> / 2}})[0],
            kMost<float> / 2);
  EXPECT_EQ(reduced<double>(Reduction::average, {{kMost<double>}, {kMost<double>}})[0],
            std::numeric_limits<double>::infinity());
}

// The partial sums of groups keep the unit that avoids the overflow.
TEST(GroupNumbers, TheAverageOfSixteenBitsIsFinite) {
  for (const int group_size : {1, 2, 4}) {
    CommunicatorFixture fixture(place(4, Placement::spread),
                                CommunicatorOptions{.bucket_bytes = 0, .group_size = group_size});
    const auto inputs = everywhere<__nv_bfloat16>(4, kMostBfloat16);
    TypedVectors<__nv_bfloat16> data(fixture.devices, inputs);
    ASSERT_TRUE(
        ok(all_reduce(data.views(), {.reduction = Reduction::average, .algorithm = Algorithm::hierarchical},
                      fixture.communicator, fixture.handles)));
    fixture.synchronize();
    for (size_t rank = 0; rank < 4; ++rank)
      EXPECT_TRUE(all_equal_bits(data.download(rank), inputs[0])) << "groups of " << group_size;
  }
}

// The smallest numbers, of which a smaller unit could lose bits. A vector of one chunk: all algorithms add
// from rank 0 to the last.
TEST_P(Numbers, TheAverageOfTheSmallestBfloat16IsThatOfTheirSum) {
  constexpr int kRanks = 7;
  const auto most_bits = static_cast<uint16_t>(12 << 7);  // subnormals, and 11 powers of two above them
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<std::vector<__nv_bfloat16>> inputs;
    for (uint64_t rank = 0; rank < kRanks; ++rank) {
      std::vector<__nv_bfloat16>& values = inputs.emplace_back();
      for (uint64_t i = 0; i < 8; ++i)
        values.push_back(std::bit_cast<__nv_bfloat16>(
            static_cast<uint16_t>((1 + seed * 7919 + rank * 104729 + i * 15485863) % most_bits)));
    }
    std::vector<__nv_bfloat16> want;
    for (size_t i = 0; i < 8; ++i) {
      float sum = 0;
      for (const auto& values : inputs) sum += static_cast<float>(values[i]);
      want.push_back(sum / kRanks);
    }
    EXPECT_TRUE(all_equal_bits(reduced(Reduction::average, inputs), want));
  }
}

// The division is in fp32. A multiplication by 1/n, or dividing the inputs, would give other bits.
TEST_P(Numbers, TheAverageOfFloatsIsADivisionAtTheEnd) {
  constexpr int kRanks = 7;
  std::vector<std::vector<float>> inputs(kRanks, std::vector<float>(100, 0));
  std::vector<float> quotients, products;
  for (size_t i = 0; i < 100; ++i) {
    inputs[i % kRanks][i] = static_cast<float>(i);
    quotients.push_back(static_cast<float>(i) / kRanks);
    products.push_back(static_cast<float>(i) * (1.0f / kRanks));
  }
  EXPECT_NE(quotients, products) << "the data do not tell";
  EXPECT_TRUE(all_equal_bits(reduced<float>(Reduction::average, inputs), quotients));
  EXPECT_EQ(reduced<double>(Reduction::average, {{10}, {0}, {0}})[0], 10.0 / 3.0);
}

}  // namespace
}  // namespace rondo::test
