#include <rondo/collectives/models/cost_model.h>
#include <rondo/tools/rondo/schedule/all_reduce_steps.h>
#include <rondo/tools/rondo/schedule/schedule_json.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace rondo::program {
namespace {

using Json = nlohmann::ordered_json;

Json link_json(const ScaleLink& link) {
  return {{"alpha_seconds", link.alpha}, {"bytes_per_second", link.bandwidth}};
}

Json step_json(const AllReduceStep& step, int ranks) {
  Json movements = Json::array(), changed = Json::array();
  for (const Movement& movement : step.movements)
    movements.push_back({{"from", movement.from},
                         {"to", movement.to},
                         {"chunk", movement.chunk},
                         {"chunks", movement.chunks},
                         {"bytes", movement.bytes},
                         {"total", movement.total}});
  for (const ChangedChunk& change : step.changed)
    changed.push_back({{"rank", change.rank},
                       {"chunk", change.chunk},
                       {"value", value_of(change.state, change.chunk, ranks)},
                       {"sums", change.state.sums},
                       {"waiting", change.state.waiting}});
  return {{"phase", step.phase},     {"reduces", step.reduces}, {"action", step.action},
          {"latency", step.latency}, {"seconds", step.seconds}, {"end", step.end},
          {"sent", step.sent},       {"movements", movements},  {"changed", changed}};
}

Json schedule_json(const AllReduceSteps& schedule, double bound) {
  Json chunks = Json::array(), inputs = Json::array(), steps = Json::array();
  for (const ring::Chunk& chunk : schedule.chunks)
    chunks.push_back({{"begin", chunk.begin}, {"bytes", chunk.size}});
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    Json values = Json::array();
    for (int chunk = 0; chunk < schedule.ranks; ++chunk)
      values.push_back(input_value(rank, chunk, schedule.ranks));
    inputs.push_back(values);
  }
  for (const AllReduceStep& step : schedule.steps) steps.push_back(step_json(step, schedule.ranks));
  return {{"ranks", schedule.ranks},
          {"algorithm", name_of(schedule.algorithm)},
          {"group", schedule.group_size},
          {"seconds", schedule.seconds()},
          {"bound_seconds", bound},
          {"chunks", chunks},
          {"inputs", inputs},
          {"steps", steps}};
}

}  // namespace

std::string schedule_json(const ScheduleArguments& arguments, const std::vector<int>& ranks) {
  Cluster cluster = arguments.cluster();
  Json schedules = Json::array();
  for (const int n : ranks) {
    cluster.devices_per_node =
        n == arguments.ranks && arguments.group > 0 ? arguments.group : default_group_size(n);
    LinkConstants constants;
    constants.wire_bandwidth = std::max(cluster.inside.bandwidth, cluster.between.bandwidth);
    const double bound = n == 1 ? 0 : lower_bound(n, arguments.bytes, constants);
    for (const Algorithm algorithm :
         {Algorithm::ring, Algorithm::direct, Algorithm::root, Algorithm::hierarchical})
      schedules.push_back(schedule_json(all_reduce_steps(algorithm, n, arguments.bytes, cluster), bound));
  }
  const Json document = {
      {"bytes", arguments.bytes},
      {"links", {{"inside", link_json(cluster.inside)}, {"between", link_json(cluster.between)}}},
      {"schedules", schedules}};
  return document.dump() + "\n";
}

}  // namespace rondo::program
