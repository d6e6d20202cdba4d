#include <rondo/collectives/cost_model.h>

#include <cmath>

namespace rondo {

namespace {

// What one all-reduce asks for.
struct Work {
  double copies_in_turn = 0;   // on the longest path, where each waits for the one before
  double kernels_in_turn = 0;  // on the same path
  double calls = 0;            // copies and kernels of all ranks
  double wire_bytes = 0;       // over the busiest wire, in its busier direction
  double sum_bytes = 0;        // read and written in one device's memory by the sums on the longest path
};

// 2(n-1) steps, each a copy of a chunk to the neighbour; in the first n-1 a sum follows that reads two chunks
// and writes one.
Work ring_work(double n, double bytes, double passes) {
  const double reduce_steps = n - 1, steps = 2 * reduce_steps;
  return {.copies_in_turn = passes * steps,
          .kernels_in_turn = passes * reduce_steps,
          .calls = passes * n * (steps + reduce_steps),
          .wire_bytes = steps * bytes / n,
          .sum_bytes = 3 * reduce_steps * bytes / n};
}

// One kernel a rank, all at once: loads its shard from all inputs, stores the sum to all outputs. What it sums
// is in registers already, so no memory is touched again.
Work direct_work(double n, double bytes) {
  return {.kernels_in_turn = 1, .calls = n, .wire_bytes = 2 * (n - 1) * bytes / n};
}

// n-1 whole vectors into rank 0 over its wire, one sum of n vectors there, n-1 copies of the result out.
Work root_work(double n, double bytes) {
  const double copies = 2 * (n - 1);
  return {.copies_in_turn = copies,
          .kernels_in_turn = 1,
          .calls = copies + 1,
          .wire_bytes = copies * bytes,
          .sum_bytes = (n + 1) * bytes};
}

double passes_of(int64_t bytes, const LinkConstants& constants) {
  if (constants.ring_pass_bytes <= 0) return 1;
  return std::ceil(static_cast<double>(bytes) / static_cast<double>(constants.ring_pass_bytes));
}

Work work_of(Algorithm algorithm, int ranks, int64_t bytes, const LinkConstants& constants) {
  const double n = ranks, S = static_cast<double>(bytes);
  if (algorithm == Algorithm::direct) return direct_work(n, S);
  if (algorithm == Algorithm::root) return root_work(n, S);
  return ring_work(n, S, passes_of(bytes, constants));
}

// The part of memory_traffic() that sums cause by themselves, after the data has been moved. On one memory the
// ranks' sums take turns, so that those of all ranks count; root has only one.
double sum_traffic(Algorithm algorithm, const Work& work, double n) {
  return algorithm == Algorithm::ring ? n * work.sum_bytes : work.sum_bytes;
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
  if (constants.ring_pass_bytes >= 0) return {};
  return bad_argument("LinkConstants: ring_pass_bytes is ", constants.ring_pass_bytes,
                      ", must be at least 0, which means one pass");
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
    case Algorithm::root:  // copies read and write, the sum reads n vectors and writes one
      return 2 * 2 * (n - 1) * S + (n + 1) * S;
    default:  // n chunks a step: copied, and in half of the steps summed
      return (n - 1) * (2 + 3) * S + (n - 1) * 2 * S;
  }
}

Cost predict(Algorithm algorithm, int ranks, int64_t bytes, const LinkConstants& constants) {
  if (bytes == 0) return {};
  if (ranks == 1) return cost_of_a_copy(static_cast<double>(bytes), constants);
  if (algorithm == Algorithm::automatic) algorithm = choose(ranks, bytes, constants, true);
  const Work work = work_of(algorithm, ranks, bytes, constants);
  Cost cost{.latency = work.copies_in_turn * constants.copy_latency +
                       work.kernels_in_turn * constants.kernel_latency,
            .host = work.calls * constants.host_seconds_per_call};
  if (constants.ranks_share_one_memory) {
    const double sums = sum_traffic(algorithm, work, ranks);
    cost.wire = (memory_traffic(algorithm, ranks, bytes) - sums) / constants.memory_bandwidth;
    cost.reduction = sums / constants.memory_bandwidth;
  } else {
    cost.wire = work.wire_bytes /
                (algorithm == Algorithm::direct ? constants.peer_bandwidth : constants.wire_bandwidth);
    cost.reduction = work.sum_bytes / constants.memory_bandwidth;
  }
  return cost;
}

double lower_bound(int ranks, int64_t bytes, const LinkConstants& constants) {
  const double n = ranks, S = static_cast<double>(bytes);
  if (ranks == 1 || constants.ranks_share_one_memory) return 2 * n * S / constants.memory_bandwidth;
  return 2 * (n - 1) / n * S / constants.wire_bandwidth;
}

Algorithm choose(int ranks, int64_t bytes, const LinkConstants& constants, bool peers_reachable) {
  Algorithm best = Algorithm::ring;
  double least = predict(best, ranks, bytes, constants).seconds();
  for (const Algorithm other : {Algorithm::direct, Algorithm::root}) {
    if (other == Algorithm::direct && !peers_reachable && !constants.ranks_share_one_memory) continue;
    const double seconds = predict(other, ranks, bytes, constants).seconds();
    if (seconds < least) {
      best = other;
      least = seconds;
    }
  }
  return best;
}

}  // namespace rondo
