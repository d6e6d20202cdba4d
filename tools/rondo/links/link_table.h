// LinkTable: what was measured of a machine's devices and of the links between them, and what follows from it for the
// ranks of a collective operation.
#pragma once

#include <rondo/collectives/models/cost_model.h>
#include <rondo/collectives/peer_access.h>

#include <string>
#include <vector>

namespace rondo::program {

struct Link {
  double bandwidth = 0;         // B/s of a large copy
  double latency = 0;           // s of a copy of next to no bytes
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
  std::vector<MeasuredDevice> devices = {};  // each once, in rising order
  std::vector<Link> links = {};  // devices x devices, row-major: [from][to]; from == to: inside a device

  const MeasuredDevice& of(int device) const;
  const Link& between(int from, int to) const;  // numbers of devices, which the table must have
};

// All bandwidths above 0, all times not negative, as many links as pairs; bad_argument names what is not.
Status check(const LinkTable& table);

// Why the table says nothing about ranks on these devices of this machine: another platform, a device that it does
// not have, or that has another name. Empty when it fits.
std::string mismatch(const LinkTable& table, const std::vector<int>& devices);

// Whether the ranks' memory is one: all on one device, or on the CPU executor.
bool share_one_memory(const std::vector<int>& devices);

// Whether kernels of every rank reach the memory of all others.
bool all_reach_all(const LinkTable& table, const std::vector<int>& devices);

// The order around the ring whose slowest link is the fastest; 0, 1, 2 ... where the ranks share a memory and no link
// is better than another. Bandwidths within a few percent count as equal: a link measured twice differs as much.
std::vector<int> best_ring_order(const LinkTable& table, const std::vector<int>& devices);

// The same devices in that order. Rank and position around the ring stay the same number, so that no result depends on it.
std::vector<int> best_placement(const LinkTable& table, const std::vector<int>& devices);

// The constants of ranks on `devices`, whose position around the ring is `order`: the slowest of what takes part.
LinkConstants constants_of(const LinkTable& table, const std::vector<int>& devices,
                           const std::vector<int>& order);

// What the cost model takes for an all-reduce of so many bytes between these ranks, in this order around the ring.
Algorithm best_algorithm(const LinkTable& table, const std::vector<int>& devices, int64_t bytes);

}  // namespace rondo::program
