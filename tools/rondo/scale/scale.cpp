#include <rondo/tools/rondo/scale/scale.h>

#include <algorithm>

namespace rondo::program {

Cluster cluster_of(const ScaleArguments& arguments) {
  Cluster cluster = arguments.cluster();
  cluster.devices_per_node = arguments.devices_per_node;
  cluster.adapters_per_node = arguments.adapters_per_node.value_or(arguments.devices_per_node);
  return cluster;
}

std::vector<int64_t> table_counts(const Cluster& cluster, int64_t most) {
  std::vector<int64_t> counts;
  for (int64_t devices = 2; devices < cluster.devices_per_node; devices *= 2) counts.push_back(devices);
  for (int64_t nodes = 1; nodes * cluster.devices_per_node <= most; nodes *= 2)
    counts.push_back(nodes * cluster.devices_per_node);
  std::erase_if(counts, [&](int64_t devices) { return devices < 2 || devices > most; });
  return counts;
}

std::vector<Span> beats_flat_ring(ScaleAlgorithm algorithm, int64_t bytes, const Cluster& cluster,
                                  int64_t most) {
  std::vector<Span> spans;
  bool beat = false;
  for (int64_t devices = 2; devices <= most; devices = next_whole(devices, cluster)) {
    const bool beats = predict(algorithm, devices, bytes, cluster) <
                       predict(ScaleAlgorithm::flat_ring, devices, bytes, cluster);
    if (beats && !beat) spans.push_back({devices, devices});
    if (beats) spans.back().last = devices;
    beat = beats;
  }
  return spans;
}

std::vector<FastestSpan> fastest_spans(int64_t bytes, const Cluster& cluster, int64_t most) {
  std::vector<FastestSpan> result;
  for (int64_t devices = 2; devices <= most; devices = next_whole(devices, cluster)) {
    const ScaleAlgorithm algorithm = fastest(devices, bytes, cluster);
    if (result.empty() || result.back().algorithm != algorithm)
      result.push_back({algorithm, {devices, devices}});
    result.back().span.last = devices;
  }
  return result;
}

}  // namespace rondo::program
