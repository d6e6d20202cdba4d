// The cost model compared with figures computed by hand, with traffic counted along the ring's schedule, and
// at the sizes where the formulas cross.
#include <gtest/gtest.h>

#include <rondo/collectives/models/cost_model.h>
#include <rondo/collectives/ring_schedule.h>

#include <cmath>
#include <limits>

namespace rondo {
namespace {

constexpr double kMicro = 1e-6, kMilli = 1e-3;
constexpr int64_t k400MB = 400'000'000;

// Round figures, a host without cost, and slots that cut a chunk into two segments.
LinkConstants wires() {
  return {.host_seconds_per_call = 0,
          .copy_latency = 10 * kMicro,
          .kernel_latency = 5 * kMicro,
          .wire_bandwidth = 100e9,
          .peer_bandwidth = 100e9,
          .memory_bandwidth = 1000e9,
          .slot_bytes = int64_t{1} << 30};
}

LinkConstants one_memory() {
  LinkConstants constants = wires();
  constants.ranks_share_one_memory = true;
  return constants;
}

void expect_cost(const Cost& cost, double latency, double wire, double reduction) {
  EXPECT_NEAR(cost.latency, latency, 1e-12);
  EXPECT_NEAR(cost.wire, wire, 1e-12);
  EXPECT_NEAR(cost.reduction, reduction, 1e-12);
  EXPECT_NEAR(cost.seconds(), latency + wire + reduction, 1e-12);
}

TEST(CostModel, FourRanksOnWires) {
  // Ring: 12 copies of half a chunk in sequence, 6 chunks of 100 MB over the link. The copies hide all sums
  // except the last one, of half a chunk.
  expect_cost(predict(Algorithm::ring, 4, k400MB, wires(), true), 125 * kMicro, 6 * kMilli, 0.15 * kMilli);
  // Direct: one kernel; each rank reads 3 chunks and writes 3, and the others do the same in the other
  // direction.
  expect_cost(predict(Algorithm::direct, 4, k400MB, wires(), true), 5 * kMicro, 6 * kMilli, 0);
  // Root: 6 whole vectors over one link; the sum reads 4 vectors and writes 1.
  expect_cost(predict(Algorithm::root, 4, k400MB, wires(), true), 65 * kMicro, 24 * kMilli, 2 * kMilli);
  EXPECT_NEAR(lower_bound(4, k400MB, wires()), 6 * kMilli, 1e-12);
}

TEST(CostModel, FourRanksOnOneMemory) {
  expect_cost(predict(Algorithm::ring, 4, k400MB, one_memory(), true), 125 * kMicro, 4.8 * kMilli,
              3.6 * kMilli);
  expect_cost(predict(Algorithm::direct, 4, k400MB, one_memory(), true), 5 * kMicro, 3.2 * kMilli, 0);
  expect_cost(predict(Algorithm::root, 4, k400MB, one_memory(), true), 65 * kMicro, 4.8 * kMilli, 2 * kMilli);
  EXPECT_NEAR(lower_bound(4, k400MB, one_memory()), 3.2 * kMilli, 1e-12);
}

TEST(CostModel, ThePeersBandwidthIsForTheDirectOneOnly) {
  LinkConstants constants = wires();
  constants.peer_bandwidth = 50e9;
  EXPECT_NEAR(predict(Algorithm::direct, 4, k400MB, constants, true).wire, 12 * kMilli, 1e-12);
  EXPECT_NEAR(predict(Algorithm::ring, 4, k400MB, constants, true).wire, 6 * kMilli, 1e-12);
}

// Counts every memory access of the ring step by step.
TEST(CostModel, TrafficOfTheRingIsWhatItsStepsMove) {
  for (int ranks = 2; ranks <= 16; ++ranks) {
    const int64_t bytes = int64_t{16} * ranks * 1000;  // whole chunks
    double moved = 0;
    for (int step = 0; step < ring::steps(ranks); ++step)
      for (int rank = 0; rank < ranks; ++rank) {
        const int chunk = ring::sent_chunk(rank, step, ranks);
        const auto size = static_cast<double>(ring::chunk_of(bytes, ranks, chunk, 1).size);
        moved += 2 * size;
        if (ring::phase_of(step, ranks) == ring::Phase::reduce_scatter) moved += 3 * size;
      }
    EXPECT_DOUBLE_EQ(memory_traffic(Algorithm::ring, ranks, bytes), moved) << ranks << " ranks";
    EXPECT_DOUBLE_EQ(memory_traffic(Algorithm::ring, ranks, bytes), 7.0 * (ranks - 1) * bytes);
    EXPECT_DOUBLE_EQ(memory_traffic(Algorithm::root, ranks, bytes), (5.0 * ranks - 3) * bytes);
    EXPECT_DOUBLE_EQ(memory_traffic(Algorithm::direct, ranks, bytes), 2.0 * ranks * bytes);
  }
}

TEST(CostModel, TheHostSetsThePaceWhereItIsSlower) {
  LinkConstants constants = wires();
  constants.host_seconds_per_call = 4 * kMicro;
  const Cost small = predict(Algorithm::ring, 8, 1000, constants, true);
  EXPECT_NEAR(small.host, 8 * 21 * 4 * kMicro, 1e-12);  // 14 copies and 7 sums per rank
  EXPECT_EQ(small.seconds(), small.host);
  EXPECT_EQ(small.dominating(), Term::host);
  EXPECT_NEAR(predict(Algorithm::direct, 8, 1000, constants, true).host, 8 * 4 * kMicro, 1e-12);
  EXPECT_NEAR(predict(Algorithm::direct, 8, 1000, constants, false).host, 8 * 15 * 4 * kMicro, 1e-12);
  EXPECT_NEAR(predict(Algorithm::root, 8, 1000, constants, true).host, 15 * 4 * kMicro, 1e-12);
  // 2 segments per chunk.
  EXPECT_NEAR(predict(Algorithm::ring, 8, k400MB, constants, true).host, 2 * small.host, 1e-12);
  const Cost large = predict(Algorithm::ring, 8, k400MB, constants, true);
  EXPECT_EQ(large.seconds(), large.on_devices());
}

TEST(CostModel, NamesTheLargestTerm) {
  EXPECT_EQ((Cost{.latency = 3, .wire = 2, .reduction = 1, .host = 5}).dominating(), Term::latency);
  EXPECT_EQ((Cost{.latency = 1, .wire = 3, .reduction = 2, .host = 6}).dominating(), Term::wire);
  EXPECT_EQ((Cost{.latency = 2, .wire = 1, .reduction = 3, .host = 0}).dominating(), Term::reduction);
  EXPECT_EQ((Cost{.latency = 1, .wire = 1, .reduction = 1, .host = 4}).dominating(), Term::host);
  EXPECT_STREQ(name_of(Term::latency), "latency");
  EXPECT_STREQ(name_of(Term::host), "host");
}

// A chunk below ring::kSplitBytes is one segment, which is copied and then added.
TEST(CostModel, SumsOfSmallChunksAreNotHidden) {
  expect_cost(predict(Algorithm::ring, 4, 400'000, wires(), true), 75 * kMicro, 6 * kMicro, 0.9 * kMicro);
}

TEST(CostModel, SmallSlotsCostLatency) {
  LinkConstants constants = wires();
  constants.slot_bytes = 25'000'000;  // 4 segments per chunk: 24 copies and 2 unhidden sums in sequence
  expect_cost(predict(Algorithm::ring, 4, k400MB, constants, true), 250 * kMicro, 6 * kMilli, 0.15 * kMilli);
  // 4 and 16 rounds, each of which copies 3 parts.
  EXPECT_NEAR(predict(Algorithm::direct, 4, k400MB, constants, false).latency, (150 + 20) * kMicro, 1e-12);
  EXPECT_NEAR(predict(Algorithm::root, 4, k400MB, constants, true).latency, (510 + 80) * kMicro, 1e-12);
  constants.slot_bytes = 40'000'000;  // 3 segments: a pair that hides its sums, and a single one
  const Cost three = predict(Algorithm::ring, 4, k400MB, constants, true);
  EXPECT_NEAR(three.latency, (18 * 10 + 4 * 5) * kMicro, 1e-12);
  EXPECT_NEAR(three.reduction, 0.4 * kMilli, 1e-9);
}

// 3 ms for the sum of half a chunk, 0.51 ms for its copy: the difference counts twice in each of 3 steps.
TEST(CostModel, SumsSlowerThanCopiesAreNotHidden) {
  LinkConstants constants = wires();
  constants.memory_bandwidth = 50e9;
  EXPECT_NEAR(predict(Algorithm::ring, 4, k400MB, constants, true).reduction,
              3 * kMilli + 6 * (3005 - 510) * kMicro, 1e-9);
}

TEST(CostModel, DirectWithoutPeersFetchesAndHandsOut) {
  expect_cost(predict(Algorithm::direct, 4, k400MB, wires(), false), 65 * kMicro, 6 * kMilli, 0.5 * kMilli);
  // On one memory all ranks have peer access.
  EXPECT_EQ(predict(Algorithm::direct, 4, k400MB, one_memory(), false).seconds(),
            predict(Algorithm::direct, 4, k400MB, one_memory(), true).seconds());
}

TEST(CostModel, OneRankCopiesAndNoBytesAreFree) {
  for (const Algorithm algorithm : kAlgorithms) {
    EXPECT_NEAR(predict(algorithm, 1, k400MB, wires(), true).seconds(), 10 * kMicro + 0.8 * kMilli, 1e-12);
    EXPECT_EQ(memory_traffic(algorithm, 1, k400MB), 2.0 * k400MB);
    EXPECT_EQ(predict(algorithm, 8, 0, LinkConstants{}, true).seconds(), 0);
  }
  EXPECT_NEAR(lower_bound(1, k400MB, wires()), 0.8 * kMilli, 1e-12);
  EXPECT_EQ(lower_bound(8, 0, wires()), 0);
}

void expect_sensible(Algorithm algorithm, int ranks, const LinkConstants& constants, bool peers_reachable) {
  double before = 0;
  for (int64_t bytes = 0; bytes < (int64_t{1} << 36); bytes = bytes * 3 + 1) {
    const double seconds = predict(algorithm, ranks, bytes, constants, peers_reachable).seconds();
    ASSERT_GE(seconds, before) << name_of(algorithm) << ", " << ranks << " ranks, " << bytes << " bytes";
    ASSERT_GE(seconds, lower_bound(ranks, bytes, constants) * (1 - 1e-12));
    before = seconds;
  }
}

TEST(CostModel, MoreDataNeverTakesLessAndNothingBeatsTheBound) {
  LinkConstants shared;
  shared.ranks_share_one_memory = true;
  for (const LinkConstants& constants : {LinkConstants{}, shared})
    for (const bool peers_reachable : {false, true})
      for (int ranks = 1; ranks <= 64; ++ranks)
        for (const Algorithm algorithm :
             {Algorithm::automatic, Algorithm::ring, Algorithm::direct, Algorithm::root})
          expect_sensible(algorithm, ranks, constants, peers_reachable);
}

// Without peer access, and with copies at a fifth of the bandwidth between consecutive ranks: the ring's 75
// us + 17.25 ps per byte and the root's 65 us + 65 ps per byte are equal at 209,424 bytes.
TEST(Choose, RootForSmallDataThenRing) {
  LinkConstants constants = wires();
  constants.peer_bandwidth = 20e9;
  EXPECT_EQ(choose(4, 1000, constants, false), Algorithm::root);
  EXPECT_EQ(choose(4, 209'424, constants, false), Algorithm::root);
  EXPECT_EQ(choose(4, 209'425, constants, false), Algorithm::ring);
  EXPECT_EQ(choose(4, k400MB, constants, false), Algorithm::ring);
}

// Eight ranks need 21 calls each; the root algorithm needs 15 in total.
TEST(Choose, RootWhereTheHostIsSlow) {
  LinkConstants constants = wires();
  constants.host_seconds_per_call = 50 * kMicro;
  EXPECT_EQ(choose(8, 1000, constants, false), Algorithm::root);
  EXPECT_EQ(choose(8, 1000, constants, true), Algorithm::direct);
}

// With peers at half the link's bandwidth: direct takes 5 us + 30 ps per byte, the ring 125 us + 15.375 ps
// per byte.
TEST(Choose, DirectWherePeersAreReachedUntilTheRingIsFaster) {
  LinkConstants constants = wires();
  constants.peer_bandwidth = 50e9;
  EXPECT_EQ(choose(4, 1, constants, true), Algorithm::direct);
  EXPECT_EQ(choose(4, 8'205'128, constants, true), Algorithm::direct);
  EXPECT_EQ(choose(4, 8'205'129, constants, true), Algorithm::ring);
  EXPECT_EQ(choose(4, k400MB, wires(), true), Algorithm::direct);
}

TEST(Choose, OneMemoryIsWithinReach) {
  EXPECT_EQ(choose(4, k400MB, one_memory(), false), Algorithm::direct);
  EXPECT_EQ(choose(2, 1, one_memory(), false), Algorithm::direct);
}

TEST(Choose, IsTheCheapestOfThemAll) {
  for (int ranks = 2; ranks <= 64; ranks *= 2)
    for (int64_t bytes = 1; bytes < (int64_t{1} << 36); bytes *= 5) {
      const LinkConstants constants;
      const Algorithm chosen = choose(ranks, bytes, constants, true);
      const double seconds = predict(chosen, ranks, bytes, constants, true).seconds();
      for (const Algorithm algorithm : kAlgorithms)
        ASSERT_LE(seconds, predict(algorithm, ranks, bytes, constants, true).seconds());
      ASSERT_EQ(predict(Algorithm::automatic, ranks, bytes, constants, true).seconds(), seconds);
    }
}

TEST(Choose, TheRingWhereNothingIsToBeDecided) {
  EXPECT_EQ(choose(1, 1000, wires(), true), Algorithm::ring);
  EXPECT_EQ(choose(8, 0, wires(), true), Algorithm::ring);
}

TEST(LinkConstants, AreChecked) {
  EXPECT_TRUE(check(LinkConstants{}).ok());
  const auto error_of = [](auto set, double value) {
    LinkConstants constants;
    set(constants) = value;
    const Status status = check(constants);
    EXPECT_EQ(status.code(), StatusCode::bad_argument) << value;
    return status.message();
  };
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {-1.0, nan, infinity}) {
    EXPECT_NE(error_of([](auto& c) -> double& { return c.host_seconds_per_call; }, bad).find("host_seconds"),
              std::string::npos);
    EXPECT_NE(error_of([](auto& c) -> double& { return c.copy_latency; }, bad).find("copy_latency"),
              std::string::npos);
    EXPECT_NE(error_of([](auto& c) -> double& { return c.kernel_latency; }, bad).find("kernel_latency"),
              std::string::npos);
  }
  for (const double bad : {0.0, -1.0, nan, infinity}) {
    EXPECT_NE(error_of([](auto& c) -> double& { return c.wire_bandwidth; }, bad).find("wire_bandwidth"),
              std::string::npos);
    EXPECT_NE(error_of([](auto& c) -> double& { return c.peer_bandwidth; }, bad).find("peer_bandwidth"),
              std::string::npos);
    EXPECT_NE(error_of([](auto& c) -> double& { return c.memory_bandwidth; }, bad).find("memory_bandwidth"),
              std::string::npos);
  }
  LinkConstants constants;
  constants.slot_bytes = 15;
  EXPECT_EQ(check(constants).message(), "LinkConstants: slot_bytes is 15, must be at least 16");
}

}  // namespace
}  // namespace rondo
