#include <rondo/tools/rondo/collective/cost.h>

#include <algorithm>
#include <cmath>

namespace rondo::program {
namespace {

// For n ranks, in units of S, the bytes of the larger side of a rank.
struct Demand {
  double copies = 0, kernels = 0;  // that wait for each other
  double calls = 0;                // copies and kernels of all ranks
  double wire = 0;                 // over the busiest wire, in its busier direction
  double moved = 0, summed = 0;    // read and written in memory by all ranks: to move, and to add
};

// A pipeline of segments from neighbour to neighbour.
double segments_of(int64_t bytes, const LinkConstants& constants) {
  return std::max(1.0, std::ceil(static_cast<double>(bytes) / static_cast<double>(constants.slot_bytes)));
}

Demand ring_demand(Verb verb, double n, double segments) {
  const double steps = n - 1;
  switch (verb) {
    case Verb::reduce_scatter:  // a step: each rank sends a chunk, and its receiver adds one
      return {.copies = steps,
              .kernels = steps,
              .calls = 2 * n * steps,
              .wire = steps / n,
              .moved = 2 * steps,
              .summed = 3 * steps};
    case Verb::all_gather:
      return {.copies = steps, .calls = n * n, .wire = steps / n, .moved = 2 * n};
    case Verb::broadcast:
      return {.copies = steps + segments - 1, .calls = steps * segments + 1, .wire = 1, .moved = 2 * n};
    default:  // reduce: as the broadcast backwards, with a sum at each rank
      return {.copies = steps + segments - 1,
              .kernels = steps,
              .calls = 2 * steps * segments,
              .wire = 1,
              .moved = 2 * steps,
              .summed = 3 * steps};
  }
}

Demand direct_demand(Verb verb, double n) {
  switch (verb) {
    case Verb::reduce_scatter:  // one kernel a rank reads its block of all inputs
      return {.kernels = 1, .calls = n, .wire = (n - 1) / n, .moved = n + 1};
    case Verb::reduce:
      return {.kernels = 1, .calls = 1, .wire = n - 1, .moved = n + 1};
    case Verb::broadcast:
      return {.copies = n, .calls = n, .wire = n - 1, .moved = 2 * n};
    default:  // all-gather, all-to-all: everyone sends a block to everyone
      return {.copies = n, .calls = n * n, .wire = (n - 1) / n, .moved = 2 * n};
  }
}

}  // namespace

Cost cost_of(Verb verb, Algorithm algorithm, int ranks, int64_t bytes, const LinkConstants& constants,
             bool peers_reachable) {
  if (verb == Verb::all_reduce || ranks == 1 || bytes == 0)
    return predict(algorithm, ranks, bytes, constants, peers_reachable);
  const bool ring = algorithm == Algorithm::ring;
  const Demand demand =
      ring ? ring_demand(verb, ranks, segments_of(bytes, constants)) : direct_demand(verb, ranks);
  const double S = static_cast<double>(bytes);
  Cost cost{.latency = demand.copies * constants.copy_latency + demand.kernels * constants.kernel_latency,
            .host = demand.calls * constants.host_seconds_per_call};
  if (constants.ranks_share_one_memory) {
    cost.wire = demand.moved * S / constants.memory_bandwidth;
    cost.reduction = demand.summed * S / constants.memory_bandwidth;
  } else {
    cost.wire = demand.wire * S / (ring ? constants.wire_bandwidth : constants.peer_bandwidth);
    cost.reduction = demand.summed / ranks * S / constants.memory_bandwidth;
  }
  return cost;
}

}  // namespace rondo::program
