// LinkTable: measurements of a machine's devices and links, and the choices for a collective operation that
// follow from them.
#pragma once

#include <rondo/collectives/models/cost_model.h>
#include <rondo/collectives/peer_access.h>

#include <string>
#include <vector>

namespace rondo::program {

struct Link {
  double bandwidth = 0;         // B/s of a large copy
  double latency = 0;           // s of a copy of a few bytes
  double kernel_bandwidth = 0;  // B/s at which a kernel of `from` reads the memory of `to`
  PeerAccess access = PeerAccess::same_device;
};

struct MeasuredDevice {
  int device = 0;
  std::string name;
  double memory_bandwidth = 0;  // B/s, reads and writes together
  double kernel_latency = 0;    // s
};

struct LinkTable {
  std::string platform;  // "cuda" or "cpu"
  std::string date;      // of the measurement, ISO 8601, UTC
  double host_seconds_per_call = 0;
  std::vector<MeasuredDevice> devices = {};  // each once, ascending
  std::vector<Link> links = {};  // devices x devices, row-major: [from][to]; from == to: inside a device
  // Why latencies of some links include the host's calls: CUDA rejected a graph. Empty if none does.
  std::string graph_refusal = {};

  const MeasuredDevice& of(int device) const;
  const Link& between(int from, int to) const;  // device numbers; the table must contain both
};

// Requires bandwidths above 0, times of at least 0, and a link for each pair of devices. A bad_argument names
// the invalid value.
Status check(const LinkTable& table);

// Why the table does not apply to ranks on these devices of this machine: another platform, a missing device,
// or a device with another name. Empty if it applies.
std::string mismatch(const LinkTable& table, const std::vector<int>& devices);

// Whether the ranks share one memory: all are on one device, or on the CPU executor (`platform` is "cpu").
bool share_one_memory(const std::string& platform, const std::vector<int>& devices);

// Whether kernels of every rank can access the memory of all other ranks.
bool all_reach_all(const LinkTable& table, const std::vector<int>& devices);

// The ring order with the fastest slowest link; 0, 1, 2 ... if the ranks share one memory. Bandwidths are
// first rounded to steps of 10 percent, because repeated measurements differ by a few percent.
std::vector<int> best_ring_order(const LinkTable& table, const std::vector<int>& devices);

// The same devices in that order. Rank and ring position stay the same number, so that no result depends on
// it.
std::vector<int> best_placement(const LinkTable& table, const std::vector<int>& devices);

// The constants of ranks on `devices` in the ring order `order`: the slowest of the links and devices that
// take part.
LinkConstants constants_of(const LinkTable& table, const std::vector<int>& devices,
                           const std::vector<int>& order);

// The algorithm that the cost model selects for an all-reduce of `bytes` between these ranks, in this ring
// order.
Algorithm best_algorithm(const LinkTable& table, const std::vector<int>& devices, int64_t bytes);

}  // namespace rondo::program
