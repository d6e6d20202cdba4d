// all_to_all(): block r of rank s becomes block s of rank r.
#include <rondo/tests/collectives/exact_data.h>
#include <rondo/tests/collectives/settings.h>

namespace rondo::test {
namespace {

template <class T>
void expect_transposed(CommunicatorFixture& fixture, const Setting& s) {
  const auto values = distinct_values<T>(s.ranks, s.ranks * s.size);
  TypedVectors<T> in(fixture.devices, values, s.offset);
  TypedVectors<T> out(fixture.devices, s.ranks * s.size, s.other_offset);
  ASSERT_TRUE(ok(all_to_all(out.views(), in.const_views(), fixture.communicator, fixture.handles)));
  fixture.synchronize();
  for (int rank = 0; rank < s.ranks; ++rank) {
    std::vector<T> want;
    for (const std::vector<T>& sender : values) {
      const auto block = block_of(sender, rank, s.size);
      want.insert(want.end(), block.begin(), block.end());
    }
    const auto r = static_cast<size_t>(rank);
    ASSERT_TRUE(all_equal_bits(out.download(r), want)) << "rank " << rank;
    ASSERT_TRUE(all_equal_bits(in.download(r), values[r])) << "the input of rank " << rank;
  }
}

TEST(AllToAll, EveryBlockArrivesAtItsRank) {
  for_settings(1, [](CommunicatorFixture& fixture, const Setting& s) {
    visit(s.dtype, [&](auto element) { expect_transposed<decltype(element)>(fixture, s); });
  });
}

}  // namespace
}  // namespace rondo::test
