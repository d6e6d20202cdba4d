// all_gather(): every rank gets the blocks of all ranks.
#include <rondo/tests/collectives/exact_data.h>
#include <rondo/tests/collectives/settings.h>

namespace rondo::test {
namespace {

template <class T>
void expect_all_blocks(CommunicatorFixture& fixture, const Setting& s) {
  const auto blocks = distinct_values<T>(s.ranks, s.size);
  std::vector<T> want;
  for (const std::vector<T>& block : blocks) want.insert(want.end(), block.begin(), block.end());
  TypedVectors<T> in(fixture.devices, blocks, s.offset);
  TypedVectors<T> out(fixture.devices, s.ranks * s.size, s.other_offset);
  std::vector<ConstDataView> inputs = in.const_views();
  if (s.in_place)
    for (int rank = 0; rank < s.ranks; ++rank) {
      const DataView own = out.view(rank).part(rank * s.size, s.size);
      const auto r = static_cast<size_t>(rank);
      if (s.size > 0) {
        ASSERT_EQ(cudaMemcpy(own.data, inputs[r].data, static_cast<size_t>(own.bytes()), cudaMemcpyDefault),
                  cudaSuccess);
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // a copy between device memory does not wait
      }
      inputs[r] = own;
    }
  ASSERT_TRUE(ok(all_gather(out.views(), inputs, s.algorithm, fixture.communicator, fixture.handles)));
  fixture.synchronize();
  for (size_t rank = 0; rank < blocks.size(); ++rank) {
    ASSERT_TRUE(all_equal_bits(out.download(rank), want)) << "rank " << rank;
    ASSERT_TRUE(all_equal_bits(in.download(rank), blocks[rank])) << "the input of rank " << rank;
  }
}

class AllGather : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Seed, AllGather, testing::Range(1, 3));

TEST_P(AllGather, EveryRankGetsEveryBlock) {
  for_settings(static_cast<uint64_t>(GetParam()), [](CommunicatorFixture& fixture, const Setting& s) {
    visit(s.dtype, [&](auto element) { expect_all_blocks<decltype(element)>(fixture, s); });
  });
}

}  // namespace
}  // namespace rondo::test
