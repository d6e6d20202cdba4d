#include <gtest/gtest.h>

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
