// Indexed: standard containers with an index of any integer type.
#include <gtest/gtest.h>

#include <rondo/kernels/core/indexed.h>

#include <array>
#include <memory>

namespace rondo::test {
namespace {

int sum_of(RankSpan<const int> values) {
  int sum = 0;
  for (int rank = 0; rank < values.count(); ++rank) sum += values[rank];
  return sum;
}

TEST(Indexed, TakesEveryIntegerAsIndex) {
  PerRank<int> values = {1, 2, 3};
  values[2] = 4;
  values[int64_t{1}] += values[size_t{0}] + values[uint8_t{0}];
  const PerRank<int>& same = values;
  EXPECT_EQ(same[1], 4);
  EXPECT_EQ(values.count(), 3);
}

TEST(Indexed, ConvertsLikeTheContainers) {
  const std::vector<int> plain = {1, 2, 3};
  const int array[] = {4, 5};
  EXPECT_EQ(sum_of(plain), 6);
  EXPECT_EQ(sum_of(array), 9);
  EXPECT_EQ(sum_of({array, 1}), 4);
  EXPECT_EQ(sum_of(std::span(plain).first(2)), 3);
  EXPECT_EQ(sum_of(PerRank<int>(plain)), 6);
  const PerRank<int> two(2, 7);
  const std::span<const int> view = two;
  EXPECT_EQ(view.size(), 2u);
}

TEST(Indexed, HoldsAnyElement) {
  PerRank<bool> bits(2, false);
  const int last = 1;
  bits[last] = true;
  EXPECT_FALSE(bits[0]);
  EXPECT_TRUE(bits[last]);
  PerRank<std::unique_ptr<int>> owners;
  owners.push_back(std::make_unique<int>(8));
  const PerRank<std::unique_ptr<int>> moved = std::move(owners);
  EXPECT_EQ(*moved[0], 8);
  Indexed<std::array<int, 2>> pair;
  pair[last] = 9;
  EXPECT_EQ(pair[1], 9);
}

}  // namespace
}  // namespace rondo::test
