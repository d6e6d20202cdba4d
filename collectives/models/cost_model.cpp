#include <rondo/collectives/models/cost_model.h>
#include <rondo/collectives/ring_schedule.h>

#include <algorithm>
#include <cmath>

namespace rondo {

namespace {

// The work of one all-reduce. "In turn" counts along the longest path of dependent items.
struct Work {
  double copies_in_turn = 0;
  double kernels_in_turn = 0;
  double calls = 0;        // copies and kernels of all ranks
  double wire_bytes = 0;   // over the busiest link, in its busier direction
  double sum_seconds = 0;  // memory time of sums that copies do not hide; each rank on its own device
  double sum_traffic = 0;  // bytes read and written by all sums of all ranks, in addition to the copies
};

double three_of(double bytes, const LinkConstants& constants) {  // two reads, one write
  return 3 * bytes / constants.memory_bandwidth;
}

// 2(n-1) steps, each a copy of a chunk to the next rank; a sum follows in the first n-1. Chunks are sent in
// pairs of segments (ring_schedule.h): while one segment is added, the next is copied. So of each two sums in
// a step only the part longer than the copies counts, plus the last sum of all. A single segment is copied,
// then added.
Work ring_work(int ranks, int64_t bytes, const LinkConstants& constants) {
  const ring::Segments segments =
      ring::segments_of(ring::full_chunk_size(bytes, ranks, 1), constants.slot_bytes, 1);
  static_assert(ring::kSlots == 2);
  const double n = ranks, S = static_cast<double>(bytes), count = static_cast<double>(segments.count);
  const auto pairs = static_cast<double>(segments.count / 2), alone = static_cast<double>(segments.count % 2);
  const double segment = S / n / count, reduce_steps = n - 1, steps = 2 * reduce_steps;
  const double copy = constants.copy_latency + segment / constants.wire_bandwidth;
  const double sum = three_of(segment, constants),
               late = std::max(0.0, constants.kernel_latency + sum - copy);
  return {.copies_in_turn = count * steps,
          .kernels_in_turn = pairs + alone * reduce_steps,
          .calls = count * n * (steps + reduce_steps),
          .wire_bytes = steps * S / n,
          .sum_seconds = pairs * (sum + 2 * reduce_steps * late) + alone * reduce_steps * sum,
          .sum_traffic = 3 * reduce_steps * S};
}

// One kernel per rank, all at the same time. Each reads its shard from all inputs and stores the sum to all
// outputs. The sum is computed in registers, so it causes no further memory traffic.
Work direct_work(double n, double S) {
  return {.kernels_in_turn = 1, .calls = n, .wire_bytes = 2 * (n - 1) * S / n};
}

// `ranks` of the n ranks, in parallel, copy a part of all ranks' data, sum it and copy the result to all. The
// copies go in rounds; a round takes from each rank what fits its share of the scratch memory: 2 kSlots slots
// for n vectors.
Work staged_work(double n, double ranks, double part, const LinkConstants& constants) {
  const double region = 2 * ring::kSlots * static_cast<double>(constants.slot_bytes) / n;
  const double rounds = std::ceil(part / region), copies = (n - 1) * (rounds + 1);
  return {.copies_in_turn = copies,
          .kernels_in_turn = rounds,
          .calls = ranks * (copies + rounds),
          .wire_bytes = 2 * (n - 1) * part,
          .sum_seconds = (n + 1) * part / constants.memory_bandwidth,
          .sum_traffic = ranks * (n + 1) * part};
}

Work work_of(Algorithm algorithm, int ranks, int64_t bytes, const LinkConstants& constants,
             bool peers_reachable) {
  const double n = ranks, S = static_cast<double>(bytes);
  if (algorithm == Algorithm::ring || algorithm == Algorithm::hierarchical)
    return ring_work(ranks, bytes, constants);
  if (algorithm == Algorithm::root) return staged_work(n, 1, S, constants);
  if (peers_reachable || constants.ranks_share_one_memory) return direct_work(n, S);
  return staged_work(n, n, S / n, constants);
}

Cost cost_of_a_copy(double bytes, const LinkConstants& constants) {
  return {.latency = constants.copy_latency,
          .wire = 2 * bytes / constants.memory_bandwidth,
          .host = constants.host_seconds_per_call};
}

Status check_value(const char* name, double value, bool zero_is_valid) {
  if (std::isfinite(value) && (value > 0 || (zero_is_valid && value == 0))) return {};
  return bad_argument("LinkConstants: ", name, " is ", value, ", must be finite and ",
                      zero_is_valid ? "not negative" : "above 0");
}

}  // namespace

Status check(const LinkConstants& constants) {
  RONDO_RETURN_IF_ERROR(check_value("host_seconds_per_call", constants.host_seconds_per_call, true));
  RONDO_RETURN_IF_ERROR(check_value("copy_latency", constants.copy_latency, true));
  RONDO_RETURN_IF_ERROR(check_value("kernel_latency", constants.kernel_latency, true));
  RONDO_RETURN_IF_ERROR(check_value("wire_bandwidth", constants.wire_bandwidth, false));
  RONDO_RETURN_IF_ERROR(check_value("peer_bandwidth", constants.peer_bandwidth, false));
  RONDO_RETURN_IF_ERROR(check_value("memory_bandwidth", constants.memory_bandwidth, false));
  if (constants.slot_bytes >= ring::kChunkAlignment) return {};
  return bad_argument("LinkConstants: slot_bytes is ", constants.slot_bytes, ", must be at least ",
                      ring::kChunkAlignment);
}

const char* name_of(Term term) {
  constexpr const char* kNames[] = {"latency", "wire", "reduction", "host"};
  return kNames[static_cast<int>(term)];
}

Term Cost::dominating() const {
  if (host > on_devices()) return Term::host;
  if (wire >= latency && wire >= reduction) return Term::wire;
  return latency >= reduction ? Term::latency : Term::reduction;
}

double memory_traffic(Algorithm algorithm, int ranks, int64_t bytes) {
  const double n = ranks, S = static_cast<double>(bytes);
  if (ranks == 1) return 2 * S;
  switch (algorithm) {
    case Algorithm::direct:  // every input is read once, every output written once
      return 2 * n * S;
    case Algorithm::root:  // copies read and write; the sum reads n vectors and writes one
      return 2 * 2 * (n - 1) * S + (n + 1) * S;
    default:  // n chunks per step are copied; in half of the steps they are also summed
      return (n - 1) * (2 + 3) * S + (n - 1) * 2 * S;
  }
}

Cost predict(Algorithm algorithm, int ranks, int64_t bytes, const LinkConstants& constants,
             bool peers_reachable) {
  if (bytes == 0) return {};
  if (ranks == 1) return cost_of_a_copy(static_cast<double>(bytes), constants);
  if (algorithm == Algorithm::automatic) algorithm = choose(ranks, bytes, constants, peers_reachable);
  const Work work = work_of(algorithm, ranks, bytes, constants, peers_reachable);
  Cost cost{.latency = work.copies_in_turn * constants.copy_latency +
                       work.kernels_in_turn * constants.kernel_latency,
            .wire = work.wire_bytes /
                    (algorithm == Algorithm::direct ? constants.peer_bandwidth : constants.wire_bandwidth),
            .reduction = work.sum_seconds,
            .host = work.calls * constants.host_seconds_per_call};
  if (constants.ranks_share_one_memory) {
    const double copied = memory_traffic(algorithm, ranks, bytes) - work.sum_traffic;
    cost.wire = copied / constants.memory_bandwidth;
    cost.reduction = work.sum_traffic / constants.memory_bandwidth;
  }
  return cost;
}

double lower_bound(int ranks, int64_t bytes, const LinkConstants& constants) {
  const double n = ranks, S = static_cast<double>(bytes);
  if (ranks == 1 || constants.ranks_share_one_memory) return 2 * n * S / constants.memory_bandwidth;
  return 2 * (n - 1) / n * S / constants.wire_bandwidth;
}

Algorithm choose(int ranks, int64_t bytes, const LinkConstants& constants, bool peers_reachable) {
  const auto seconds = [&](Algorithm algorithm) {
    return predict(algorithm, ranks, bytes, constants, peers_reachable).seconds();
  };
  Algorithm best = Algorithm::ring;
  for (const Algorithm other : {Algorithm::direct, Algorithm::root})
    if (seconds(other) < seconds(best)) best = other;
  return best;
}

}  // namespace rondo
