// SumOrder::balanced_tree adds as reduction.h documents: T(a, b) = T(a, a + p) + T(a + p, b) with p the
// largest power of two below b - a.
#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/collectives/exact_data.h>

namespace rondo::test {
namespace {

template <class T>
float tree(const std::vector<std::vector<T>>& inputs, size_t begin, size_t end, size_t element) {
  if (end - begin == 1) return static_cast<float>(inputs[begin][element]);
  size_t half = 1;
  while (2 * half < end - begin) half *= 2;
  return tree(inputs, begin, begin + half, element) + tree(inputs, begin + half, end, element);
}
template <class T>
std::vector<T> tree_sum(const std::vector<std::vector<T>>& inputs, size_t begin, size_t end) {
  std::vector<T> sum;
  for (size_t i = 0; i < inputs[0].size(); ++i) sum.push_back(static_cast<T>(tree(inputs, begin, end, i)));
  return sum;
}

template <class T>
std::vector<std::vector<T>> normal(int ranks, int64_t size) {
  std::vector<std::vector<T>> values;
  for (const std::vector<float>& of_rank : normal_inputs(ranks, size, 17))
    values.emplace_back(of_rank.begin(), of_rank.end());
  return values;
}

template <class T>
std::vector<T> reduced_by_tree(CommunicatorFixture& fixture, const std::vector<std::vector<T>>& inputs,
                               Algorithm algorithm) {
  TypedVectors<T> data(fixture.devices, inputs, 1);
  EXPECT_TRUE(ok(all_reduce(data.views(), {.algorithm = algorithm, .order = SumOrder::balanced_tree},
                            fixture.communicator, fixture.handles)));
  fixture.synchronize();
  const std::vector<T> result = data.download(0);
  for (size_t rank = 1; rank < inputs.size(); ++rank)
    EXPECT_TRUE(all_equal_bits(data.download(rank), result));
  return result;
}

class BalancedTree : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, BalancedTree,
                         testing::Values(Algorithm::direct, Algorithm::root, Algorithm::automatic),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(BalancedTree, AddsAsTheRecursionDefines) {
  for (int ranks = 1; ranks <= 16; ++ranks) {
    CommunicatorFixture fixture(place(ranks, Placement::spread));
    const auto inputs = normal<float>(ranks, 301);
    const auto want = tree_sum(inputs, 0, inputs.size());
    if (ranks > 3) {
      EXPECT_NE(want, documented_sum(inputs, Algorithm::direct)) << "the data do not tell";
    }
    ASSERT_TRUE(all_equal_bits(reduced_by_tree(fixture, inputs, GetParam()), want)) << ranks << " ranks";
    const auto narrow = normal<__nv_bfloat16>(ranks, 301);
    ASSERT_TRUE(
        all_equal_bits(reduced_by_tree(fixture, narrow, GetParam()), tree_sum(narrow, 0, narrow.size())))
        << ranks << " ranks, bfloat16";
  }
}

TEST_P(BalancedTree, SixtyFourRanks) {
  CommunicatorFixture fixture(place(64, Placement::spread), 1024);
  const auto inputs = normal<float>(64, 70);
  EXPECT_TRUE(all_equal_bits(reduced_by_tree(fixture, inputs, GetParam()), tree_sum(inputs, 0, 64)));
}

// The algorithms that operations other than all_reduce() support.
class BalancedTreeOfOthers : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, BalancedTreeOfOthers, testing::Values(Algorithm::direct, Algorithm::automatic),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(BalancedTreeOfOthers, ReduceScatterAndReduceAddByTreeToo) {
  constexpr int kRanks = 7;
  const ReduceOptions options{.algorithm = GetParam(), .order = SumOrder::balanced_tree};
  CommunicatorFixture fixture(place(kRanks, Placement::spread));
  const auto inputs = normal<float>(kRanks, kRanks * 40);
  const auto want = tree_sum(inputs, 0, kRanks);
  RankVectors in(fixture.devices, inputs), out(fixture.devices, 40), whole(fixture.devices, kRanks * 40);
  ASSERT_TRUE(
      ok(reduce_scatter(out.views(), in.const_views(), options, fixture.communicator, fixture.handles)));
  ASSERT_TRUE(ok(reduce(whole.view(3), in.const_views(), 3, options, fixture.communicator, fixture.handles)));
  fixture.synchronize();
  EXPECT_TRUE(all_equal_bits(whole.download(3), want));
  for (size_t rank = 0; rank < kRanks; ++rank) {
    const auto begin = want.begin() + static_cast<std::ptrdiff_t>(rank * 40);
    EXPECT_TRUE(all_equal_bits(out.download(rank), std::vector<float>(begin, begin + 40)));
  }
}

// Adding 8 ranks at once gives the same bits as adding 4 ranks twice and then the two sums.
TEST_P(BalancedTree, SumsOfSubtreesGiveTheSameBits) {
  CommunicatorFixture eight(place(8, Placement::spread)), four(place(4, Placement::spread)),
      two(place(2, Placement::spread));
  const auto inputs = normal<float>(8, 500);
  const std::vector<std::vector<float>> lower(inputs.begin(), inputs.begin() + 4),
      upper(inputs.begin() + 4, inputs.end());
  const auto halves =
      std::vector{reduced_by_tree(four, lower, GetParam()), reduced_by_tree(four, upper, GetParam())};
  EXPECT_TRUE(
      all_equal_bits(reduced_by_tree(two, halves, GetParam()), reduced_by_tree(eight, inputs, GetParam())));
}

// The order does not change the results of integers, min and max.
TEST_P(BalancedTree, DoesNotChangeExactReductions) {
  CommunicatorFixture fixture(place(5, Placement::spread));
  for (const Reduction reduction : kReductions) {
    const auto data = exact_data<int32_t>(reduction, 5, 200, 3);
    TypedVectors<int32_t> vectors(fixture.devices, data.inputs);
    ASSERT_TRUE(ok(all_reduce(
        vectors.views(), {.reduction = reduction, .algorithm = GetParam(), .order = SumOrder::balanced_tree},
        fixture.communicator, fixture.handles)));
    fixture.synchronize();
    for (size_t rank = 0; rank < 5; ++rank)
      ASSERT_TRUE(all_equal_bits(vectors.download(rank), data.want)) << name_of(reduction);
  }
}

}  // namespace
}  // namespace rondo::test
