// The formulas for clusters compared with figures computed by hand, and with each other where they must
// agree.
#include <gtest/gtest.h>

#include <rondo/collectives/models/scale_links.h>
#include <rondo/collectives/models/scale_model.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace rondo {
namespace {

constexpr double kMicrosecond = 1e-6;
constexpr int64_t k100MB = 100'000'000;

// Inside a node: 2 us and 100 GB/s per device. Between nodes: 10 us and 10 GB/s per adapter.
Cluster cluster(int devices_per_node, int adapters) {
  return {.inside = {2 * kMicrosecond, 100e9},
          .between = {10 * kMicrosecond, 10e9},
          .devices_per_node = devices_per_node,
          .adapters_per_node = adapters};
}

double flat(int64_t devices, const Cluster& c) {
  return predict(ScaleAlgorithm::flat_ring, devices, k100MB, c);
}
double tree(int64_t devices, const Cluster& c) { return predict(ScaleAlgorithm::tree, devices, k100MB, c); }
double rings(int64_t devices, const Cluster& c) {
  return predict(ScaleAlgorithm::hierarchical_ring, devices, k100MB, c);
}
double trees(int64_t devices, const Cluster& c) {
  return predict(ScaleAlgorithm::hierarchical_tree, devices, k100MB, c);
}

TEST(ScaleModel, OneNode) {
  const Cluster c = cluster(4, 4);
  EXPECT_NEAR(flat(4, c), 6 * 2 * kMicrosecond + 1.5e-3, 1e-12);  // 6 steps, 1.5 S at 100 GB/s
  // Twice a height of 2, and 2 S: 4 * 2 + 2000 us, and for k segments 2 (k - 1) + 3 * 2000 / k us.
  EXPECT_NEAR(tree(4, c), (2008 + 2 * std::sqrt(6000 * 2.0) - 2) * kMicrosecond, 1e-12);
  EXPECT_EQ(tree(3, c), tree(4, c));  // 3 devices need the same height as 4
  EXPECT_EQ(rings(4, c), flat(4, c));
  EXPECT_EQ(trees(4, c), flat(4, c));
  for (const ScaleAlgorithm algorithm : kScaleAlgorithms) EXPECT_EQ(predict(algorithm, 1, k100MB, c), 0);
}

TEST(ScaleModel, FourNodesOfFour) {
  const Cluster c = cluster(4, 4);  // 40 GB/s between nodes
  EXPECT_NEAR(flat(16, c), 24 * 2 * kMicrosecond + 6 * 10 * kMicrosecond + 30.0 / 16 * 2.5e-3, 1e-12);
  // The slowest of 8 hops takes 10 us: 48 + 5000 us, and for k segments 10 (k - 1) + 7 * 5000 / k us.
  EXPECT_NEAR(tree(16, c), (5048 + 2 * std::sqrt(35000 * 10.0) - 10) * kMicrosecond, 1e-12);
  // Inside: twice 3 steps with 3/4 S at 100 GB/s. Between: 6 steps with 1.5 S at 40 GB/s.
  EXPECT_NEAR(rings(16, c), 6 * 2 * kMicrosecond + 1.5e-3 + 6 * 10 * kMicrosecond + 1.5 * 2.5e-3, 1e-12);
  // Between nodes, 4 hops and 2 S: 40 + 5000 us, and for k segments 10 (k - 1) + 3 * 5000 / k us.
  EXPECT_NEAR(trees(16, c),
              12 * kMicrosecond + 1.5e-3 + (5040 + 2 * std::sqrt(15000 * 10.0) - 10) * kMicrosecond, 1e-12);
}

TEST(ScaleModel, TheSlowerOfNodeAndAdaptersCounts) {
  EXPECT_NEAR(flat(16, cluster(4, 1)), 24 * 2 * kMicrosecond + 60 * kMicrosecond + 30.0 / 16 * 10e-3, 1e-12);
  EXPECT_NEAR(flat(16, cluster(4, 40)), 24 * 2 * kMicrosecond + 60 * kMicrosecond + 30.0 / 16 * 1e-3, 1e-12);
  EXPECT_NEAR(rings(16, cluster(4, 40)), 12 * kMicrosecond + 1.5e-3 + 60 * kMicrosecond + 1.5 * 0.25e-3,
              1e-12);
}

TEST(ScaleModel, NodesOfOneDevice) {
  Cluster c = cluster(1, 2);
  c.inside.bandwidth = 1;  // no link is inside a node
  EXPECT_NEAR(flat(5, c), 8 * 10 * kMicrosecond + 1.6 * 5e-3, 1e-12);
  EXPECT_NEAR(tree(5, c), (60 + 10000 + 2 * std::sqrt(50000 * 10.0) - 10) * kMicrosecond, 1e-12);
  EXPECT_EQ(rings(5, c), flat(5, c));
  EXPECT_EQ(trees(5, c), tree(5, c));
}

TEST(ScaleModel, WholeCounts) {
  const Cluster c = cluster(6, 1);
  std::vector<int64_t> counts;
  for (int64_t devices = 1; devices < 30; devices = next_whole(devices, c)) counts.push_back(devices);
  EXPECT_EQ(counts, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 12, 18, 24}));
  for (int64_t devices = 1; devices < 25; ++devices)
    EXPECT_EQ(is_whole(devices, c), std::count(counts.begin(), counts.end(), devices) == 1) << devices;
  EXPECT_FALSE(has_hierarchy(6, c));
  EXPECT_TRUE(has_hierarchy(12, c));
  EXPECT_FALSE(has_hierarchy(12, cluster(1, 1)));
}

// Data that is too small to be cut goes up and down the tree in one segment.
TEST(ScaleModel, OnePieceOfSmallData) {
  const Cluster c = cluster(4, 4);
  EXPECT_NEAR(predict(ScaleAlgorithm::tree, 4, 1000, c), 4 * (2 * kMicrosecond + 2000 / 100e9), 1e-15);
  EXPECT_NEAR(predict(ScaleAlgorithm::tree, 2, 1000, c), 2 * (2 * kMicrosecond + 2000 / 100e9), 1e-15);
}

// For many nodes the number of steps dominates: trees beat rings, and a ring of nodes beats a ring of
// devices.
TEST(ScaleModel, LargeClustersNeedLogarithms) {
  const Cluster c = {.inside = find_link("nvlink")->link, .between = find_link("network")->link};
  for (const int64_t bytes : {int64_t{1} << 20, int64_t{25} << 20, int64_t{1} << 30}) {
    const double ring_of_nodes = predict(ScaleAlgorithm::hierarchical_ring, 8192, bytes, c);
    EXPECT_LT(predict(ScaleAlgorithm::tree, 8192, bytes, c), ring_of_nodes);
    EXPECT_LT(predict(ScaleAlgorithm::hierarchical_tree, 8192, bytes, c), ring_of_nodes);
    EXPECT_LT(ring_of_nodes, predict(ScaleAlgorithm::flat_ring, 8192, bytes, c));
  }
  EXPECT_EQ(fastest(8, int64_t{1} << 30, c), ScaleAlgorithm::flat_ring);
}

TEST(ScaleModel, NeverFasterWithMoreDataNorWithMoreNodes) {
  const Cluster c = {.inside = find_link("pcie")->link, .between = find_link("network")->link};
  for (const ScaleAlgorithm algorithm : kScaleAlgorithms) {
    double before = 0;
    for (int64_t bytes = 1; bytes < (int64_t{1} << 40); bytes *= 3) {
      const double seconds = predict(algorithm, 64, bytes, c);
      ASSERT_GT(seconds, before) << name_of(algorithm);
      before = seconds;
    }
    before = 0;
    for (int64_t devices = 8; devices <= 8192; devices = next_whole(devices, c)) {
      const double seconds = predict(algorithm, devices, k100MB, c);
      ASSERT_GE(seconds, before) << name_of(algorithm) << ", " << devices << " devices";
      before = seconds;
    }
  }
}

// No prediction is below what the links allow: (n-1)/n of the data in and out of every device, twice.
TEST(ScaleModel, NothingBeatsTheBound) {
  const Cluster c = cluster(8, 8);
  for (int64_t devices = 2; devices <= 1024; devices = next_whole(devices, c))
    for (const ScaleAlgorithm algorithm : kScaleAlgorithms)
      ASSERT_GE(predict(algorithm, devices, k100MB, c),
                2.0 * static_cast<double>(devices - 1) / static_cast<double>(devices) * k100MB / 100e9);
}

TEST(ScaleModel, FastestIsTheFirstOfTheFastest) {
  const Cluster c = cluster(4, 4);
  EXPECT_EQ(fastest(1, k100MB, c), ScaleAlgorithm::flat_ring);
  EXPECT_EQ(fastest(4, k100MB, c), ScaleAlgorithm::flat_ring);  // the hierarchical ones are the same ring
  EXPECT_EQ(fastest(64, 1, c), ScaleAlgorithm::tree);
}

TEST(ScaleLinks, AreFoundByName) {
  EXPECT_EQ(find_link("nvlink")->link.bandwidth, 18 * 20.6e9);
  EXPECT_EQ(find_link("pcie")->link.alpha, 5.7e-6);
  EXPECT_FALSE(find_link("NVLink"));
  EXPECT_FALSE(find_link(""));
}

}  // namespace
}  // namespace rondo
