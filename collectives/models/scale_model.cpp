#include <rondo/collectives/models/scale_model.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace rondo {

namespace {

// The height of a binary tree over `count` nodes: the smallest h with 2^h >= count.
int height_of(int64_t count) {
  int height = 0;
  while ((int64_t{1} << height) < count) ++height;
  return height;
}

// Devices in nodes: the whole cluster, or the part of it that takes part in one phase.
struct Group {
  double devices = 1, nodes = 1, inside = 1;  // inside: devices per node
  int height_inside = 0, height_between = 0;
};

Group group_of(int64_t devices, const Cluster& cluster) {
  const int64_t inside = std::min<int64_t>(devices, cluster.devices_per_node), nodes = devices / inside;
  return {.devices = static_cast<double>(devices),
          .nodes = static_cast<double>(nodes),
          .inside = static_cast<double>(inside),
          .height_inside = height_of(inside),
          .height_between = height_of(nodes)};
}

// The bandwidth of all data through a node: the minimum of its devices' links and its adapters.
double through_a_node(const Group& group, const Cluster& cluster) {
  if (group.nodes == 1) return cluster.inside.bandwidth;
  if (group.inside == 1) return cluster.node_bandwidth();
  return std::min(cluster.inside.bandwidth, cluster.node_bandwidth());
}

// A chunk crosses 2(n-1) links, of which at least 2(nodes-1) connect different nodes.
double flat_ring(const Group& group, double bytes, const Cluster& cluster) {
  const double steps = 2 * (group.devices - 1), between = 2 * (group.nodes - 1);
  return (steps - between) * cluster.inside.alpha + between * cluster.between.alpha +
         steps / group.devices * bytes / through_a_node(group, cluster);
}

// Data that crosses `hops` links one after the other in k segments: while one segment is on the second link,
// the next is on the first. `latency` is the sum over the hops, `alpha` that of the slowest hop, `seconds`
// the time of the data on one link without latency. k segments add (k - 1) alpha and (hops - 1)/k seconds;
// the best k makes the two equal.
double pipelined(double latency, double hops, double alpha, double seconds) {
  const double segments = std::max(1.0, std::sqrt((hops - 1) * seconds / alpha));
  return latency + seconds + (segments - 1) * alpha + (hops - 1) * seconds / segments;
}

// Up and down two trees. Each device is an inner node of one tree and a leaf of the other, so each device
// receives 2S and sends 2S in total.
double tree(const Group& group, double bytes, const Cluster& cluster) {
  if (group.devices == 1) return 0;
  const double inside = 2 * group.height_inside, between = 2 * group.height_between;
  const double latency = inside * cluster.inside.alpha + between * cluster.between.alpha;
  const double slowest =
      std::max(inside > 0 ? cluster.inside.alpha : 0, between > 0 ? cluster.between.alpha : 0);
  return pipelined(latency, inside + between, slowest, 2 * bytes / through_a_node(group, cluster));
}

// The time of a reduce-scatter or an all-gather of all data inside a node.
double half_a_ring(double devices, double bytes, const ScaleLink& link) {
  return (devices - 1) * link.alpha + (devices - 1) / devices * bytes / link.bandwidth;
}

// The phase between nodes: every device all-reduces its shard with the same shard of the other nodes. All
// devices do so at the same time, so the node's data uses all of its adapters.
double between_nodes(ScaleAlgorithm algorithm, const Group& group, double bytes, const Cluster& cluster) {
  const double alpha = cluster.between.alpha, seconds = bytes / cluster.node_bandwidth();
  const double hops = 2 * group.height_between;
  if (algorithm == ScaleAlgorithm::hierarchical_tree)
    return pipelined(hops * alpha, hops, alpha, 2 * seconds);
  return 2 * (group.nodes - 1) * (alpha + seconds / group.nodes);
}

}  // namespace

const char* name_of(ScaleAlgorithm algorithm) {
  constexpr const char* kNames[] = {"flat ring", "double binary tree", "hierarchical ring",
                                    "hierarchical ring with trees"};
  return kNames[static_cast<int>(algorithm)];
}

bool is_whole(int64_t devices, const Cluster& cluster) {
  return devices <= cluster.devices_per_node || devices % cluster.devices_per_node == 0;
}

bool has_hierarchy(int64_t devices, const Cluster& cluster) {
  return cluster.devices_per_node > 1 && devices > cluster.devices_per_node;
}

double predict(ScaleAlgorithm algorithm, int64_t devices, int64_t bytes, const Cluster& cluster) {
  const Group group = group_of(devices, cluster);
  const auto S = static_cast<double>(bytes);
  const bool with_trees = algorithm == ScaleAlgorithm::hierarchical_tree;
  if (algorithm == ScaleAlgorithm::tree) return tree(group, S, cluster);
  if (algorithm == ScaleAlgorithm::flat_ring) return flat_ring(group, S, cluster);
  if (!has_hierarchy(devices, cluster))
    return with_trees && group.nodes > 1 ? tree(group, S, cluster) : flat_ring(group, S, cluster);
  return 2 * half_a_ring(group.inside, S, cluster.inside) + between_nodes(algorithm, group, S, cluster);
}

ScaleAlgorithm fastest(int64_t devices, int64_t bytes, const Cluster& cluster) {
  return *std::min_element(std::begin(kScaleAlgorithms), std::end(kScaleAlgorithms),
                           [&](ScaleAlgorithm a, ScaleAlgorithm b) {
                             return predict(a, devices, bytes, cluster) < predict(b, devices, bytes, cluster);
                           });
}

int64_t next_whole(int64_t devices, const Cluster& cluster) {
  return devices < cluster.devices_per_node ? devices + 1 : devices + cluster.devices_per_node;
}

}  // namespace rondo
