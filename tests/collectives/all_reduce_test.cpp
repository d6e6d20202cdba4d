// What all_reduce() computes: every number of ranks, size, placement and alignment.
#include <rondo/tests/collectives/world.h>

#include <cmath>
#include <limits>
#include <tuple>

namespace rondo::test {
namespace {

constexpr int kRanks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16};

struct Case {
  Algorithm algorithm = Algorithm::ring;
  int64_t size = 0;
  Placement placement = Placement::spread;
  bool in_place = false;
  int64_t offset = 0;  // of the first element from a 256-byte boundary, in elements
};

std::string describe(int ranks, const Case& c) {
  return concat(c.algorithm, ", ", ranks, " ranks, ", c.size, " elements, ", c.placement,
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
  ASSERT_TRUE(ok(sum_by(c.algorithm, world, c.in_place ? in : out, in)));
  world.synchronize();
  for (size_t rank = 0; rank < inputs.size(); ++rank) {
    ASSERT_TRUE(all_near((c.in_place ? in : out).download(rank), to_double(want), 0)) << "rank " << rank;
    if (!c.in_place) {
      ASSERT_TRUE(all_equal_bits(in.download(rank), inputs[rank])) << "the input of rank " << rank;
    }
  }
}

using Parameters = std::tuple<Algorithm, int>;
class AllReduce : public testing::TestWithParam<Parameters> {
 protected:
  Algorithm algorithm() const { return std::get<0>(GetParam()); }
  int ranks() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(All, AllReduce,
                         testing::Combine(testing::ValuesIn(kAlgorithms), testing::ValuesIn(kRanks)),
                         [](const testing::TestParamInfo<Parameters>& info) {
                           return concat(std::get<0>(info.param), std::get<1>(info.param));
                         });

TEST_P(AllReduce, SumsEverySizeAndAlignment) {
  const int n = ranks();
  for (Placement placement : {Placement::spread, Placement::together, Placement::pairs}) {
    World world(place(n, placement));
    for (int64_t size : {0, 1, 4, n - 1, n, n + 1, 2 * n - 1, 4 * n, 4 * n + 3, 1000})
      for (bool in_place : {true, false})
        for (int64_t offset : {0, 1, 2, 3})
          if (placement == Placement::spread || offset < 2)
            expect_sum(world, {algorithm(), size, placement, in_place, offset});
  }
}

TEST_P(AllReduce, SumsManyElements) {
  World world(place(ranks(), Placement::spread));
  expect_sum(world, {algorithm(), 65537, Placement::spread, true, 1});
  expect_sum(world, {algorithm(), 65537, Placement::spread, false, 0});
}

// Tiny slots: a chunk goes round in up to hundreds of pieces, the last one ragged.
TEST_P(AllReduce, SumsInManyPieces) {
  for (int64_t slot_bytes : {64, 96 + 15, 1024}) {
    World world(place(ranks(), Placement::spread), slot_bytes);
    for (int64_t size : {5, 1000, 1023})
      for (bool in_place : {true, false})
        expect_sum(world, {algorithm(), size, Placement::spread, in_place, 0});
  }
}

// Data whose sum depends on the order of the additions, compared bit by bit with the documented order.
TEST_P(AllReduce, AddsInTheDocumentedOrder) {
  const int n = ranks();
  for (int64_t slot_bytes : {int64_t{64}, int64_t{1} << 20}) {
    World world(place(n, Placement::spread), slot_bytes);
    for (int64_t size : {3, 257, 1001}) {
      SCOPED_TRACE(describe(n, {algorithm(), size}));
      const auto inputs = normal_inputs(n, size, static_cast<uint64_t>(size));
      const std::vector<float> want = documented_sum(inputs, algorithm());
      if (n > 2 && size > 100) {
        const Algorithm other = algorithm() == Algorithm::ring ? Algorithm::direct : Algorithm::ring;
        ASSERT_NE(want, documented_sum(inputs, other)) << "the data would not show another order";
      }
      RankVectors data(world.devices, inputs);
      ASSERT_TRUE(ok(sum_by(algorithm(), world, data)));
      world.synchronize();
      for (size_t rank = 0; rank < inputs.size(); ++rank)
        ASSERT_TRUE(all_equal_bits(data.download(rank), want)) << "rank " << rank;
    }
  }
}

TEST(AllReduceLarge, SumsAMillionElements) {
  for (Algorithm algorithm : kAlgorithms)
    for (int ranks : {2, 3, 8}) {
      World whole(place(ranks, Placement::spread), int64_t{4} << 20);
      expect_sum(whole, {algorithm, 1'000'003, Placement::spread, true, 0});
      World pieces(place(ranks, Placement::together));
      expect_sum(pieces, {algorithm, 1'000'003, Placement::together, false, 3});
    }
}

class AllReduceValues : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, AllReduceValues, testing::ValuesIn(kAlgorithms),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(AllReduceValues, InfinityAndNanReachEveryRank) {
  World world(place(3, Placement::spread));
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  RankVectors data(world.devices, {{infinity, 1, infinity, 0}, {2, nan, -infinity, -0.0f}, {3, 4, 5, 0}});
  ASSERT_TRUE(ok(sum_by(GetParam(), world, data)));
  world.synchronize();
  for (size_t rank = 0; rank < 3; ++rank) {
    const std::vector<float> got = data.download(rank);
    EXPECT_EQ(got[0], infinity);
    EXPECT_TRUE(std::isnan(got[1]));
    EXPECT_TRUE(std::isnan(got[2]));
    EXPECT_EQ(got[3], 0);
  }
}

TEST(AllReduceViews, OneInputMayServeAllRanks) {
  World world(place(4, Placement::together));
  RankVectors shared({0}, {{1, 2, 3, 4, 5}});
  RankVectors out(world.devices, 5);
  const std::vector<ConstDataView> inputs(4, shared.const_views()[0]);
  ASSERT_TRUE(ok(all_reduce(out.views(), inputs, {}, world.communicator, world.handles)));
  world.synchronize();
  for (size_t rank = 0; rank < 4; ++rank) EXPECT_TRUE(all_near(out.download(rank), {4, 8, 12, 16, 20}, 0));
}

TEST(AllReduceViews, SomeRanksInPlaceOthersNot) {
  World world(place(3, Placement::spread));
  RankVectors a(world.devices, {{1, 2}, {10, 20}, {100, 200}});
  RankVectors b(world.devices, 2);
  const std::vector<DataView> outputs = {a.views()[0], b.views()[1], a.views()[2]};
  ASSERT_TRUE(ok(all_reduce(outputs, a.const_views(), {}, world.communicator, world.handles)));
  world.synchronize();
  EXPECT_TRUE(all_near(a.download(0), {111, 222}, 0));
  EXPECT_TRUE(all_near(b.download(1), {111, 222}, 0));
  EXPECT_TRUE(all_near(a.download(2), {111, 222}, 0));
  EXPECT_TRUE(all_near(a.download(1), {10, 20}, 0));
}

TEST(AllReduceViews, NothingToDoIsFine) {
  World world(place(2, Placement::spread));
  const std::vector<DataView> nothing(2);
  EXPECT_TRUE(ok(all_reduce(nothing, {}, world.communicator, world.handles)));
}

TEST(AllReduceDevice, TheCallersDeviceStaysCurrent) {
  World world(place(4, Placement::spread));
  RankVectors data(world.devices, exact_inputs(4, 100, 1));
  for (int device = 0; device < device_count(); ++device) {
    DeviceScope scope(device);
    ASSERT_TRUE(ok(sum_by(Algorithm::automatic, world, data)));
    int current = -1;
    ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, device);
    world.synchronize();
  }
}

}  // namespace
}  // namespace rondo::test
