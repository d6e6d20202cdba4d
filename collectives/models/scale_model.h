// Estimates the time of an all-reduce on thousands of devices: alpha-beta formulas for the flat ring, the
// double binary tree and the hierarchical ring. Pure functions; docs/ring.md derives them. They show up to
// which size each algorithm scales. Rondo itself implements the flat ring and a hierarchical ring whose
// groups exchange their shards directly.
#pragma once

#include <cstdint>

namespace rondo {

// One hop takes alpha + bytes / bandwidth.
struct ScaleLink {
  double alpha = 0;      // seconds per step, including its sum and synchronisation
  double bandwidth = 0;  // B/s in each direction, per device (inside a node) or adapter (between nodes)
};

// Nodes of equal size. Inside a node, all devices are connected by `inside`. Nodes are connected through
// their adapters, each with the link `between`; every algorithm may use all adapters.
struct Cluster {
  ScaleLink inside, between;
  int devices_per_node = 8;
  int adapters_per_node = 8;

  double node_bandwidth() const { return between.bandwidth * adapters_per_node; }
};

enum class ScaleAlgorithm : uint8_t {
  flat_ring,          // one ring through all devices, node by node
  tree,               // two binary trees, each for half of the data: sums go up, results come down
  hierarchical_ring,  // reduce-scatter inside nodes, ring all-reduce between them, all-gather inside
  hierarchical_tree,  // the same, with trees between the nodes
};

inline constexpr ScaleAlgorithm kScaleAlgorithms[] = {ScaleAlgorithm::flat_ring, ScaleAlgorithm::tree,
                                                      ScaleAlgorithm::hierarchical_ring,
                                                      ScaleAlgorithm::hierarchical_tree};

// "flat ring", "double binary tree", ...
const char* name_of(ScaleAlgorithm algorithm);

// Whether the formulas apply to this number of devices: at most one node, or whole nodes.
bool is_whole(int64_t devices, const Cluster& cluster);

// Whether the hierarchical algorithms differ from the flat ones: several nodes with several devices each.
bool has_hierarchy(int64_t devices, const Cluster& cluster);

// Returns seconds. Requires devices >= 1 and is_whole(), bytes > 0 (per device), alphas and bandwidths above
// 0. Without a hierarchy, the hierarchical algorithms are equal to their parts: the ring in one node; ring or
// tree between nodes of one device.
double predict(ScaleAlgorithm algorithm, int64_t devices, int64_t bytes, const Cluster& cluster);

// The algorithm with the smallest predicted time; the first in kScaleAlgorithms if several are equal.
ScaleAlgorithm fastest(int64_t devices, int64_t bytes, const Cluster& cluster);

// The next number of devices for which is_whole() holds: plus one inside the first node, then plus one node.
int64_t next_whole(int64_t devices, const Cluster& cluster);

}  // namespace rondo
