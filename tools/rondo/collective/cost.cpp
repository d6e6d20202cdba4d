#include <rondo/tools/rondo/collective/cost.h>

#include <algorithm>
#include <cmath>

namespace rondo::program {
namespace {

// The cost terms for n ranks, in units of S, the bytes of the larger side of a rank.
struct Demand {
  double copies = 0, kernels = 0;  // in the chain of dependent operations
  double calls = 0;                // copies and kernels of all ranks
  double wire = 0;                 // over the busiest wire, in its busier direction
  double moved = 0, summed = 0;    // memory traffic of all ranks: of copies, and of additions
};

// The number of segments that move through the pipeline from rank to rank.
double segments_of(int64_t bytes, const LinkConstants& constants) {
  return std::max(1.0, std::ceil(static_cast<double>(bytes) / static_cast<double>(constants.slot_bytes)));
}

Demand ring_demand(Verb verb, double n, double segments) {
  const double steps = n - 1;
  switch (verb) {
    case Verb::reduce_scatter:  // each step: every rank sends a chunk, and its receiver adds it
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
    default:  // reduce: the broadcast in reverse, with an addition on each rank
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
    case Verb::reduce_scatter:  // one kernel per rank reads the rank's block of all inputs
      return {.kernels = 1, .calls = n, .wire = (n - 1) / n, .moved = n + 1};
    case Verb::reduce:
      return {.kernels = 1, .calls = 1, .wire = n - 1, .moved = n + 1};
    case Verb::broadcast:
      return {.copies = n, .calls = n, .wire = n - 1, .moved = 2 * n};
    default:  // all-gather, all-to-all: every rank sends a block to every rank
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
