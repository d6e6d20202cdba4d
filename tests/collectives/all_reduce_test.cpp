// The views that all_reduce() accepts; it does not change the current device. all_reduce_grid_test.cpp checks
// results.
#include <rondo/tests/collectives/communicator_fixture.h>

namespace rondo::test {
namespace {

TEST(AllReduceViews, OneInputMayServeAllRanks) {
  CommunicatorFixture fixture(place(4, Placement::together));
  RankVectors shared({0}, {{1, 2, 3, 4, 5}});
  RankVectors out(fixture.devices, 5);
  const std::vector<ConstDataView> inputs(4, shared.const_views()[0]);
  ASSERT_TRUE(ok(all_reduce(out.views(), inputs, {}, fixture.communicator, fixture.handles)));
  fixture.synchronize();
  for (size_t rank = 0; rank < 4; ++rank) EXPECT_TRUE(all_near(out.download(rank), {4, 8, 12, 16, 20}, 0));
}

TEST(AllReduceViews, SomeRanksInPlaceOthersNot) {
  CommunicatorFixture fixture(place(3, Placement::spread));
  RankVectors a(fixture.devices, {{1, 2}, {10, 20}, {100, 200}});
  RankVectors b(fixture.devices, 2);
  const std::vector<DataView> outputs = {a.views()[0], b.views()[1], a.views()[2]};
  ASSERT_TRUE(ok(all_reduce(outputs, a.const_views(), {}, fixture.communicator, fixture.handles)));
  fixture.synchronize();
  EXPECT_TRUE(all_near(a.download(0), {111, 222}, 0));
  EXPECT_TRUE(all_near(b.download(1), {111, 222}, 0));
  EXPECT_TRUE(all_near(a.download(2), {111, 222}, 0));
  EXPECT_TRUE(all_near(a.download(1), {10, 20}, 0));
}

// Rank 0 copies all vectors to its scratch memory, which holds hardly one element of each. The bucket follows
// directly after it.
TEST(AllReduceViews, ManyRanksWithTheSmallestSlots) {
  for (const int ranks : {13, 25, 64}) {
    SCOPED_TRACE(concat(ranks, " ranks"));
    CommunicatorFixture fixture(place(ranks, Placement::spread),
                                CommunicatorOptions{.slot_bytes = 64, .bucket_bytes = 256});
    const RankResources::Rank& first = fixture.communicator.resources().of(0);
    ASSERT_GE(first.scratch.bytes(), ranks * 2 * ring::kChunkAlignment + 256) << "rounds would never end";
    const auto inputs = exact_inputs(ranks, 70, 8);
    RankVectors one(fixture.devices, inputs, 1), two(fixture.devices, exact_inputs(ranks, 40, 9), 2),
        three(fixture.devices, exact_inputs(ranks, 20, 10), 3);
    ASSERT_TRUE(ok(sum_by(Algorithm::root, fixture, one)));
    std::vector<std::vector<DataView>> lists;
    for (int rank = 0; rank < ranks; ++rank) lists.push_back({two.view(rank), three.view(rank)});
    ASSERT_TRUE(ok(
        all_reduce_coalesced(lists, {.algorithm = Algorithm::root}, fixture.communicator, fixture.handles)));
    fixture.synchronize();
    for (size_t rank = 0; rank < inputs.size(); ++rank) {
      ASSERT_TRUE(all_equal_bits(one.download(rank), documented_sum(inputs, Algorithm::root)));
      ASSERT_TRUE(
          all_equal_bits(two.download(rank), documented_sum(exact_inputs(ranks, 40, 9), Algorithm::root)));
      ASSERT_TRUE(
          all_equal_bits(three.download(rank), documented_sum(exact_inputs(ranks, 20, 10), Algorithm::root)));
    }
  }
}

TEST(AllReduceViews, NothingToDoIsFine) {
  CommunicatorFixture fixture(place(2, Placement::spread));
  const std::vector<DataView> nothing(2);
  EXPECT_TRUE(ok(all_reduce(nothing, {}, fixture.communicator, fixture.handles)));
}

TEST(AllReduceDevice, TheCallersDeviceStaysCurrent) {
  CommunicatorFixture fixture(place(4, Placement::spread));
  RankVectors data(fixture.devices, exact_inputs(4, 100, 1));
  for (int device = 0; device < device_count(); ++device) {
    DeviceScope scope(device);
    ASSERT_TRUE(ok(sum_by(Algorithm::automatic, fixture, data)));
    int current = -1;
    ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, device);
    fixture.synchronize();
  }
}

}  // namespace
}  // namespace rondo::test
