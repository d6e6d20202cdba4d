// reduce(): the root gets the reduction, for every root; the other ranks do not change.
#include <rondo/tests/collectives/exact_data.h>
#include <rondo/tests/collectives/settings.h>

namespace rondo::test {
namespace {

template <class T>
void expect_at_root(CommunicatorFixture& fixture, const Setting& s, int root) {
  const auto r = static_cast<size_t>(root);
  const auto data = exact_data<T>(s.reduction, s.ranks, s.size, s.seed);
  TypedVectors<T> in(fixture.devices, data.inputs, s.offset);
  TypedVectors<T> out({fixture.devices[r]}, s.in_place ? 0 : s.size, s.other_offset);
  const DataView output = s.in_place ? in.views()[r] : out.views()[0];
  ASSERT_TRUE(ok(reduce(output, in.const_views(), root, {.reduction = s.reduction, .algorithm = s.algorithm},
                        fixture.communicator, fixture.handles)));
  fixture.synchronize();
  ASSERT_TRUE(all_equal_bits(s.in_place ? in.download(r) : out.download(0), data.want)) << "root " << root;
  for (size_t rank = 0; rank < data.inputs.size(); ++rank)
    if (!s.in_place || rank != r) {
      ASSERT_TRUE(all_equal_bits(in.download(rank), data.inputs[rank]))
          << "the input of rank " << rank << ", root " << root;
    }
}

class Reduce : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seed, Reduce, testing::Range(1, 3));

TEST_P(Reduce, TheRootGetsTheReduction) {
  for_settings(static_cast<uint64_t>(GetParam()), [](CommunicatorFixture& fixture, const Setting& s) {
    for (int root = 0; root < s.ranks; ++root)
      visit(s.dtype, [&](auto element) { expect_at_root<decltype(element)>(fixture, s, root); });
  });
}

}  // namespace
}  // namespace rondo::test
