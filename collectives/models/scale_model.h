// What an all-reduce takes on thousands of devices, on paper: alpha-beta formulas for the flat ring, the double
// binary tree and the hierarchical ring. Pure functions; docs/ring.md derives them. They show which shape carries
// how far: Rondo itself runs the flat ring, and a hierarchical one whose groups exchange their shards directly.
#pragma once

#include <cstdint>

namespace rondo {

// One hop takes alpha + bytes / bandwidth.
struct ScaleLink {
  double alpha = 0;  // seconds of a step, with the sum and the synchronisation that belong to it
  double bandwidth =
      0;  // B/s of a device (inside a node) or of an adapter (between nodes), in each direction
};

// Nodes of equal size. Inside a node every device reaches every other over `inside`; nodes reach each other
// through their adapters, each over `between`, and every algorithm is given all of them.
struct Cluster {
  ScaleLink inside, between;
  int devices_per_node = 8;
  int adapters_per_node = 8;

  double node_bandwidth() const { return between.bandwidth * adapters_per_node; }
};

enum class ScaleAlgorithm : uint8_t {
  flat_ring,          // one ring through all devices, node by node
  tree,               // two binary trees, each for half of the data: sums go up, results come down
  hierarchical_ring,  // reduce-scatter inside nodes, ring all-reduce of the shards between them, all-gather inside
  hierarchical_tree,  // the same with trees between the nodes
};

inline constexpr ScaleAlgorithm kScaleAlgorithms[] = {ScaleAlgorithm::flat_ring, ScaleAlgorithm::tree,
                                                      ScaleAlgorithm::hierarchical_ring,
                                                      ScaleAlgorithm::hierarchical_tree};

// "flat ring", "double binary tree", ...
const char* name_of(ScaleAlgorithm algorithm);

// How many devices the formulas are for: up to a node's worth, then whole nodes.
bool is_whole(int64_t devices, const Cluster& cluster);

// The hierarchical ones are different from the flat ones: several nodes with several devices each.
bool has_hierarchy(int64_t devices, const Cluster& cluster);

// Seconds. devices >= 1 and is_whole(), bytes > 0 (of each device's vector), alphas and bandwidths above 0. Where there is
// no hierarchy, the hierarchical algorithms are what they consist of: the ring in one node; ring or tree
// between nodes of one device.
double predict(ScaleAlgorithm algorithm, int64_t devices, int64_t bytes, const Cluster& cluster);

// The fastest; of equal ones the first in kScaleAlgorithms.
ScaleAlgorithm fastest(int64_t devices, int64_t bytes, const Cluster& cluster);

// The next count for which is_whole(): by one inside the first node, then by a node.
int64_t next_whole(int64_t devices, const Cluster& cluster);

}  // namespace rondo
