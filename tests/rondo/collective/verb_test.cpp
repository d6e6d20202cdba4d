#include <gtest/gtest.h>

#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/collective/cost.h>
#include <rondo/tools/rondo/collective/verb.h>

namespace rondo::program {
namespace {

LinkConstants constants() {
  LinkConstants c;
  c.wire_bandwidth = 10;
  c.memory_bandwidth = 1000;
  return c;
}

TEST(Verb, Extents) {
  EXPECT_EQ(extent_of(Verb::all_reduce, 4, 10).count, 10);
  const Extent scatter = extent_of(Verb::reduce_scatter, 4, 11);
  EXPECT_EQ(scatter.input, 8);
  EXPECT_EQ(scatter.output, 2);
  EXPECT_EQ(scatter.count, 2);
  const Extent gather = extent_of(Verb::all_gather, 4, 11);
  EXPECT_EQ(gather.input, 2);
  EXPECT_EQ(gather.output, 8);
  EXPECT_EQ(gather.larger(), 8);
  const Extent all = extent_of(Verb::all_to_all, 4, 11);
  EXPECT_EQ(all.input, 8);
  EXPECT_EQ(all.output, 8);
  EXPECT_EQ(all.count, 2);
}

TEST(Verb, BusFactors) {
  EXPECT_DOUBLE_EQ(bus_factor(Verb::all_reduce, 4), 1.5);
  for (const Verb verb : {Verb::reduce_scatter, Verb::all_gather, Verb::all_to_all})
    EXPECT_DOUBLE_EQ(bus_factor(verb, 4), 0.75);
  for (const Verb verb : {Verb::broadcast, Verb::reduce}) EXPECT_DOUBLE_EQ(bus_factor(verb, 4), 1);
}

TEST(Verb, BoundOverTheWire) {
  const std::vector<int> devices = {0, 1, 2, 3};
  EXPECT_DOUBLE_EQ(bound_of(Verb::all_reduce, devices, false, 100, constants()),
                   lower_bound(4, 100, constants()));
  EXPECT_DOUBLE_EQ(bound_of(Verb::all_reduce, devices, false, 100, constants()), 15);
  EXPECT_DOUBLE_EQ(bound_of(Verb::all_gather, devices, false, 100, constants()), 7.5);
  EXPECT_DOUBLE_EQ(bound_of(Verb::broadcast, devices, false, 100, constants()), 10);
}

TEST(Verb, BoundInOneMemory) {
  LinkConstants c = constants();
  c.ranks_share_one_memory = true;
  for (const std::vector<int>& devices : {std::vector<int>{0, 0, 0, 0}, std::vector<int>{0, 1, 2, 3}}) {
    EXPECT_DOUBLE_EQ(bound_of(Verb::all_reduce, devices, true, 100, c), lower_bound(4, 100, c));
    EXPECT_DOUBLE_EQ(bound_of(Verb::all_reduce, devices, true, 100, c), 0.8);
    EXPECT_DOUBLE_EQ(bound_of(Verb::all_to_all, devices, true, 100, c), 0.8);
    EXPECT_DOUBLE_EQ(bound_of(Verb::reduce_scatter, devices, true, 100, c), 0.5);
  }
}

// Two ranks on each of two devices: one wire between the devices, and four ranks' data in two memories.
TEST(Verb, BoundOfSharedDevices) {
  LinkConstants c = constants();
  const std::vector<int> devices = {0, 0, 1, 1};
  EXPECT_DOUBLE_EQ(bound_of(Verb::all_reduce, devices, false, 100, c), 10) << "2 (2-1)/2 S / wire";
  c.memory_bandwidth = 20;
  EXPECT_DOUBLE_EQ(bound_of(Verb::all_reduce, devices, false, 100, c), 20) << "2 * 2 S / memory";
}

TEST(Verb, CostsNameTheDominantTerm) {
  LinkConstants c;
  for (const Verb verb : kVerbs) {
    if (verb == Verb::all_to_all) continue;
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
      EXPECT_EQ(cost_of(verb, algorithm, 4, int64_t{1} << 32, c, true).dominating(), Term::wire);
      LinkConstants slow_host = c;
      slow_host.host_seconds_per_call = 1;
      EXPECT_EQ(cost_of(verb, algorithm, 4, 1024, slow_host, true).dominating(), Term::host);
      LinkConstants latent = c;
      latent.copy_latency = latent.kernel_latency = 1;
      EXPECT_EQ(cost_of(verb, algorithm, 4, 1024, latent, true).dominating(), Term::latency);
    }
  }
  EXPECT_EQ(cost_of(Verb::all_reduce, Algorithm::ring, 4, 1 << 20, c, true).seconds(),
            predict(Algorithm::ring, 4, 1 << 20, c, true).seconds());
}

// 4 ranks of 400 bytes, in 2 segments.
TEST(Verb, CostsAreThoseOfTheirFormulas) {
  struct Expected {
    Verb verb;
    Algorithm algorithm;
    double latency, host;
    double wire, reduction;                // each rank on its own device
    double shared_wire, shared_reduction;  // all ranks in one memory
  };
  constexpr Algorithm kRing = Algorithm::ring, kDirect = Algorithm::direct;
  const Expected all[] = {
      {Verb::reduce_scatter, kRing, 3 * 2 + 3 * 30, 6, 30, 0.9, 2.4, 3.6},
      {Verb::all_gather, kRing, 3 * 2, 4, 30, 0, 3.2, 0},
      {Verb::broadcast, kRing, 4 * 2, 1.75, 40, 0, 3.2, 0},
      {Verb::reduce, kRing, 4 * 2 + 3 * 30, 3, 40, 0.9, 2.4, 3.6},
      {Verb::reduce_scatter, kDirect, 30, 1, 15, 0, 2, 0},
      {Verb::all_gather, kDirect, 4 * 2, 4, 15, 0, 3.2, 0},
      {Verb::all_to_all, kDirect, 4 * 2, 4, 15, 0, 3.2, 0},
      {Verb::broadcast, kDirect, 4 * 2, 1, 60, 0, 3.2, 0},
      {Verb::reduce, kDirect, 30, 0.25, 60, 0, 2, 0},
  };
  LinkConstants c = {.host_seconds_per_call = 0.25,
                     .copy_latency = 2,
                     .kernel_latency = 30,
                     .wire_bandwidth = 10,
                     .peer_bandwidth = 20,
                     .memory_bandwidth = 1000,
                     .slot_bytes = 200};
  for (const Expected& e : all)
    for (const bool shared : {false, true}) {
      SCOPED_TRACE(concat(command_of(e.verb), ", ", name_of(e.algorithm), shared ? ", one memory" : ""));
      c.ranks_share_one_memory = shared;
      const Cost cost = cost_of(e.verb, e.algorithm, 4, 400, c, true);
      EXPECT_DOUBLE_EQ(cost.latency, e.latency);
      EXPECT_DOUBLE_EQ(cost.host, e.host);
      EXPECT_DOUBLE_EQ(cost.wire, shared ? e.shared_wire : e.wire);
      EXPECT_DOUBLE_EQ(cost.reduction, shared ? e.shared_reduction : e.reduction);
    }
}

// The cost does not decrease with more bytes or more ranks, and no prediction is below the bound of the wire.
TEST(Verb, CostsDoNotDecrease) {
  const LinkConstants c;
  for (const Verb verb : kVerbs) {
    const Algorithm algorithm = Algorithm::direct;
    EXPECT_LT(cost_of(verb, algorithm, 4, 1 << 20, c, true).seconds(),
              cost_of(verb, algorithm, 4, 1 << 26, c, true).seconds());
    EXPECT_GE(cost_of(verb, algorithm, 4, 1 << 26, c, true).seconds(),
              bound_of(verb, {0, 1, 2, 3}, false, 1 << 26, c));
  }
}

}  // namespace
}  // namespace rondo::program
