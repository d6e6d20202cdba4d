#include <rondo/nn/graph/schedule.h>

#include <algorithm>

namespace rondo::nn {

namespace {

using Kind = ScheduleEntry::Kind;

struct Segment {
  int begin, end;  // nodes
  bool has(int node) const { return begin <= node && node < end; }
};

// True if the value is computed in the segment and only used there. The network's output would pass this test
// too, but the last segment, which computes it, is never recomputed.
bool is_internal(const Graph& graph, const Segment& segment, int value) {
  const Graph::ValueInfo& info = graph.values()[static_cast<size_t>(value)];
  return segment.has(info.producer) &&
         std::all_of(info.uses.begin(), info.uses.end(),
                     [&](const Graph::Use& use) { return segment.has(use.node); });
}

// The operations that must run again before the segment goes backward: those that compute what backward
// reads, and those that compute their inputs.
std::vector<ScheduleEntry> recomputed(const Graph& graph, const Segment& segment) {
  std::vector<bool> needed(graph.values().size());
  const auto need_inputs = [&](const Graph::Node& node) {
    for (int input : node.inputs) needed[static_cast<size_t>(graph.resolved(input))] = true;
  };
  for (int i = segment.begin; i < segment.end; ++i) {
    const Graph::Node& node = graph.nodes()[static_cast<size_t>(i)];
    if (node.op->saves().inputs) need_inputs(node);
    if (node.op->saves().output) needed[static_cast<size_t>(node.output)] = true;
  }
  std::vector<ScheduleEntry> schedule;
  for (int i = segment.end - 1; i >= segment.begin; --i) {
    const Graph::Node& node = graph.nodes()[static_cast<size_t>(i)];
    if (!needed[static_cast<size_t>(node.output)] || !is_internal(graph, segment, node.output)) continue;
    need_inputs(node);
    schedule.push_back({Kind::recompute, i});
  }
  std::reverse(schedule.begin(), schedule.end());
  return schedule;
}

}  // namespace

std::vector<ScheduleEntry> evaluation_schedule(const Graph& graph) {
  std::vector<ScheduleEntry> schedule;
  for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node)
    schedule.push_back({Kind::forward, node});
  schedule.push_back({Kind::loss});
  return schedule;
}

std::vector<ScheduleEntry> training_schedule(const Graph& graph, int64_t checkpoint_layers) {
  if (checkpoint_layers < 0)
    throw Error(bad_argument("schedule: checkpoint_layers is ", checkpoint_layers,
                             ", must be at least 1, or 0 for no recomputing"));
  std::vector<ScheduleEntry> schedule = evaluation_schedule(graph);
  const auto nodes = static_cast<int>(graph.nodes().size());
  const int length =
      checkpoint_layers > 0 ? static_cast<int>(std::min<int64_t>(checkpoint_layers, nodes)) : nodes;
  for (int end = nodes; end > 0;) {
    const Segment segment = {(end - 1) / length * length, end};
    if (end < nodes)
      for (const ScheduleEntry& entry : recomputed(graph, segment)) schedule.push_back(entry);
    for (int node = end - 1; node >= segment.begin; --node) schedule.push_back({Kind::backward, node});
    end = segment.begin;
  }
  return schedule;
}

}  // namespace rondo::nn
