// broadcast(): every rank gets the vector of the root, for every root.
#include <rondo/tests/collectives/exact_data.h>
#include <rondo/tests/collectives/settings.h>

namespace rondo::test {
namespace {

template <class T>
void expect_everywhere(CommunicatorFixture& fixture, const Setting& s, int root) {
  const auto r = static_cast<size_t>(root);
  const auto values = distinct_values<T>(1, s.size)[0];
  TypedVectors<T> in({fixture.devices[r]}, {values}, s.offset);
  TypedVectors<T> out(fixture.devices, s.size, s.other_offset);
  ConstDataView input = in.const_views()[0];
  if (s.in_place) {
    input = out.views()[r];
    if (s.size > 0) {
      ASSERT_EQ(cudaMemcpy(out.views()[r].data, in.views()[0].data, static_cast<size_t>(input.bytes()),
                           cudaMemcpyDefault),
                cudaSuccess);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // a copy between device memory does not wait
    }
  }
  ASSERT_TRUE(ok(broadcast(out.views(), input, root, s.algorithm, fixture.communicator, fixture.handles)));
  fixture.synchronize();
  for (size_t rank = 0; rank < fixture.devices.size(); ++rank)
    ASSERT_TRUE(all_equal_bits(out.download(rank), values)) << "rank " << rank << ", root " << root;
  ASSERT_TRUE(all_equal_bits(in.download(0), values)) << "the input, root " << root;
}

class Broadcast : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seed, Broadcast, testing::Range(1, 3));

TEST_P(Broadcast, EveryRankGetsTheRootsVector) {
  for_settings(static_cast<uint64_t>(GetParam()), [](CommunicatorFixture& fixture, const Setting& s) {
    for (int root = 0; root < s.ranks; ++root)
      visit(s.dtype, [&](auto element) { expect_everywhere<decltype(element)>(fixture, s, root); });
  });
}

}  // namespace
}  // namespace rondo::test
