// reduce_scatter(): rank r gets block r of the reduction.
#include <rondo/tests/collectives/exact_data.h>
#include <rondo/tests/collectives/settings.h>

namespace rondo::test {
namespace {

template <class T>
void expect_blocks(CommunicatorFixture& fixture, const Setting& s) {
  const auto data = exact_data<T>(s.reduction, s.ranks, s.ranks * s.size, s.seed);
  TypedVectors<T> in(fixture.devices, data.inputs, s.offset);
  TypedVectors<T> out(fixture.devices, s.in_place ? 0 : s.size, s.other_offset);
  std::vector<DataView> outputs = out.views();
  if (s.in_place)
    for (int rank = 0; rank < s.ranks; ++rank)
      outputs[static_cast<size_t>(rank)] = in.view(rank).part(rank * s.size, s.size);
  ASSERT_TRUE(
      ok(reduce_scatter(outputs, in.const_views(), {.reduction = s.reduction, .algorithm = s.algorithm},
                        fixture.communicator, fixture.handles)));
  fixture.synchronize();
  for (int rank = 0; rank < s.ranks; ++rank) {
    const auto r = static_cast<size_t>(rank);
    const auto want = block_of(data.want, rank, s.size);
    std::vector<T> input = data.inputs[r];
    if (s.in_place) std::copy(want.begin(), want.end(), input.begin() + rank * s.size);
    if (!s.in_place) {
      ASSERT_TRUE(all_equal_bits(out.download(r), want)) << "rank " << rank;
    }
    ASSERT_TRUE(all_equal_bits(in.download(r), input)) << "the input of rank " << rank;
  }
}

class ReduceScatter : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seed, ReduceScatter, testing::Range(1, 3));

TEST_P(ReduceScatter, EveryRankGetsItsBlock) {
  for_settings(static_cast<uint64_t>(GetParam()), [](CommunicatorFixture& fixture, const Setting& s) {
    visit(s.dtype, [&](auto element) { expect_blocks<decltype(element)>(fixture, s); });
  });
}

}  // namespace
}  // namespace rondo::test
