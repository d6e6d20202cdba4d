// What all_reduce() computes: every number of ranks, size, placement and alignment.
#include <rondo/tests/collectives/world.h>

#include <cmath>
#include <limits>

namespace rondo::test {
namespace {

constexpr int kRanks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16};

struct Case {
  int64_t size = 0;
  Placement placement = Placement::spread;
  bool in_place = false;
  int64_t offset = 0;  // of the first element from a 256-byte boundary, in elements
};

std::string describe(int ranks, const Case& c) {
  return concat(ranks, " ranks, ", c.size, " elements, ", c.placement,
                c.in_place ? ", in place" : ", out of place", ", offset ", c.offset);
}

// Inputs whose sum is exact in every order, so that the expectation knows nothing of the ring.
void expect_sum(World& world, const Case& c) {
  const int ranks = world.communicator.size();
  SCOPED_TRACE(describe(ranks, c));
  const auto inputs = exact_inputs(ranks, c.size, 7);
  std::vector<float> want(static_cast<size_t>(c.size), 0);
  for (const auto& input : inputs)
    for (size_t i = 0; i < want.size(); ++i) want[i] += input[i];

  RankVectors in(world.devices, inputs, c.offset);
  // Another offset than the inputs', so that packs of four elements don't fit both
  RankVectors out(world.devices, c.size, c.offset == 0 ? 0 : 4 - c.offset);
  if (c.in_place)
    ASSERT_TRUE(ok(all_reduce(in.views(), world.communicator, world.handles)));
  else
    ASSERT_TRUE(ok(all_reduce(out.views(), in.const_views(), world.communicator, world.handles)));
  world.synchronize();
  for (size_t rank = 0; rank < inputs.size(); ++rank) {
    ASSERT_TRUE(all_near((c.in_place ? in : out).download(rank), to_double(want), 0)) << "rank " << rank;
    if (!c.in_place) {
      ASSERT_TRUE(all_equal_bits(in.download(rank), inputs[rank])) << "the input of rank " << rank;
    }
  }
}

class AllReduce : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, AllReduce, testing::ValuesIn(kRanks));

TEST_P(AllReduce, SumsEverySizeAndAlignment) {
  const int ranks = GetParam();
  for (Placement placement : {Placement::spread, Placement::together, Placement::pairs}) {
    World world(place(ranks, placement));
    for (int64_t size : {0, 1, 4, ranks - 1, ranks, ranks + 1, 2 * ranks - 1, 4 * ranks, 4 * ranks + 3, 1000})
      for (bool in_place : {true, false})
        for (int64_t offset : {0, 1, 2, 3})
          if (placement == Placement::spread || offset < 2)
            expect_sum(world, {size, placement, in_place, offset});
  }
}

TEST_P(AllReduce, SumsManyElements) {
  World world(place(GetParam(), Placement::spread));
  expect_sum(world, {65537, Placement::spread, true, 1});
  expect_sum(world, {65537, Placement::spread, false, 0});
}

// Slots of 16, 48 and 1024 bytes: data goes round in up to hundreds of passes, the last one ragged.
TEST_P(AllReduce, SumsInSeveralPasses) {
  for (int64_t slot_bytes : {16, 48 + 15, 1024}) {
    World world(place(GetParam(), Placement::spread), slot_bytes);
    for (int64_t size : {5, 1000, 1023})
      for (bool in_place : {true, false}) expect_sum(world, {size, Placement::spread, in_place, 0});
  }
}

TEST(AllReduceLarge, SumsAMillionElements) {
  for (int ranks : {2, 3, 8}) {
    World whole(place(ranks, Placement::spread));
    expect_sum(whole, {1'000'003, Placement::spread, true, 0});
    World pieces(place(ranks, Placement::together), 64 << 10);
    expect_sum(pieces, {1'000'003, Placement::together, false, 3});
  }
}

// Data whose sum depends on the order of the additions, compared bit by bit with the documented order.
TEST_P(AllReduce, AddsInTheDocumentedOrder) {
  const int ranks = GetParam();
  for (int64_t slot_bytes : {int64_t{32}, Communicator::kDefaultSlotBytes}) {
    World world(place(ranks, Placement::spread), slot_bytes);
    for (int64_t size : {3, 257, 1001}) {
      SCOPED_TRACE(describe(ranks, {size}));
      const auto inputs = normal_inputs(ranks, size, static_cast<uint64_t>(size));
      const std::vector<float> want = documented_sum(inputs, slot_bytes);
      std::vector<float> from_rank_0;
      for (size_t i = 0; i < want.size(); ++i) from_rank_0.push_back(sum_from(inputs, 0, i));
      if (ranks > 2 && size > 100) {
        ASSERT_NE(want, from_rank_0) << "the data would not show another order";
      }
      RankVectors data(world.devices, inputs);
      ASSERT_TRUE(ok(all_reduce(data.views(), world.communicator, world.handles)));
      world.synchronize();
      for (size_t rank = 0; rank < inputs.size(); ++rank)
        ASSERT_TRUE(all_equal_bits(data.download(rank), want)) << "rank " << rank;
    }
  }
}

TEST(AllReduceValues, InfinityAndNanReachEveryRank) {
  World world(place(3, Placement::spread));
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  RankVectors data(world.devices, {{infinity, 1, infinity, 0}, {2, nan, -infinity, -0.0f}, {3, 4, 5, 0}});
  ASSERT_TRUE(ok(all_reduce(data.views(), world.communicator, world.handles)));
  world.synchronize();
  for (size_t rank = 0; rank < 3; ++rank) {
    const std::vector<float> got = data.download(rank);
    EXPECT_EQ(got[0], infinity);
    EXPECT_TRUE(std::isnan(got[1]));
    EXPECT_TRUE(std::isnan(got[2]));
    EXPECT_EQ(got[3], 0);
  }
}

TEST(AllReduceValues, OneInputMayServeAllRanks) {
  World world(place(4, Placement::together));
  RankVectors shared({0}, {{1, 2, 3, 4, 5}});
  RankVectors out(world.devices, 5);
  const std::vector<VectorView<const float>> inputs(4, shared.const_views()[0]);
  ASSERT_TRUE(ok(all_reduce(out.views(), inputs, world.communicator, world.handles)));
  world.synchronize();
  for (size_t rank = 0; rank < 4; ++rank) EXPECT_TRUE(all_near(out.download(rank), {4, 8, 12, 16, 20}, 0));
}

TEST(AllReduceValues, SomeRanksInPlaceOthersNot) {
  World world(place(3, Placement::spread));
  RankVectors a(world.devices, {{1, 2}, {10, 20}, {100, 200}});
  RankVectors b(world.devices, 2);
  const std::vector<VectorView<float>> outputs = {a.views()[0], b.views()[1], a.views()[2]};
  ASSERT_TRUE(ok(all_reduce(outputs, a.const_views(), world.communicator, world.handles)));
  world.synchronize();
  EXPECT_TRUE(all_near(a.download(0), {111, 222}, 0));
  EXPECT_TRUE(all_near(b.download(1), {111, 222}, 0));
  EXPECT_TRUE(all_near(a.download(2), {111, 222}, 0));
  EXPECT_TRUE(all_near(a.download(1), {10, 20}, 0));
}

TEST(AllReduceValues, NothingToDoIsFine) {
  World world(place(2, Placement::spread));
  const std::vector<VectorView<float>> nothing(2);
  EXPECT_TRUE(ok(all_reduce(nothing, world.communicator, world.handles)));
}

TEST(AllReduceDevice, TheCallersDeviceStaysCurrent) {
  World world(place(4, Placement::spread));
  RankVectors data(world.devices, exact_inputs(4, 100, 1));
  for (int device = 0; device < device_count(); ++device) {
    DeviceScope scope(device);
    ASSERT_TRUE(ok(all_reduce(data.views(), world.communicator, world.handles)));
    int current = -1;
    ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, device);
    world.synchronize();
  }
}

}  // namespace
}  // namespace rondo::test
