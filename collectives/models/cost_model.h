// What an all-reduce should take: a formula for each algorithm, the bound that no algorithm beats, and the
// choice between the algorithms. Pure functions, no CUDA; docs/ring.md derives the formulas.
//
// S bytes a rank, n ranks. A copy takes copy_latency + bytes / wire_bandwidth, a kernel takes kernel_latency +
// the bytes it moves / memory_bandwidth, and the host needs host_seconds_per_call to ask for either.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/kernels/core/status.h>

#include <cstdint>

namespace rondo {

// The figures of one machine. The defaults are for one that nobody has measured: orders of magnitude for ranks
// on PCIe 4.0, good enough to rank the algorithms and no statement about any machine. Measure, then fit
// (alpha_beta.h).
struct LinkConstants {
  double host_seconds_per_call = 4e-6;  // the host asks for one copy or kernel, with the events that order it
  double copy_latency = 6e-6;           // s: of a copy of no bytes, with the wait for what it depends on
  double kernel_latency = 4e-6;         // s: the same of a kernel
  double wire_bandwidth = 25e9;         // B/s in each direction: copies over the slowest link of the ring
  double peer_bandwidth = 25e9;         // B/s in each direction: from and to all other ranks at once
  double memory_bandwidth = 1e12;       // B/s of one device's memory, reads and writes together
  bool ranks_share_one_memory = false;  // all ranks on one device; false: each on its own
  int64_t slot_bytes = int64_t{4} << 20;  // CommunicatorOptions::slot_bytes: the largest segment that is copied
};

// Every time is finite and not negative, every bandwidth finite and above 0, a slot has at least 16 bytes.
Status check(const LinkConstants& constants);

enum class Term { latency, wire, reduction, host };
const char* name_of(Term term);

// The predicted time, in seconds, by what it is spent on.
struct Cost {
  double latency = 0;    // steps that wait for each other, each with the latency of a copy or a kernel
  double wire = 0;       // moving the data: over the links, or through the memory that the ranks share
  double reduction = 0;  // sums that no copy hides
  double host = 0;       // one thread asking for all copies and kernels of all ranks

  double on_devices() const { return latency + wire + reduction; }
  // Devices and host work at the same time, so that the slower of the two sets the pace.
  double seconds() const { return host > on_devices() ? host : on_devices(); }
  // Where to look first when this is too slow: the host where it sets the pace, else the largest part.
  Term dominating() const;
};

// In all of these: ranks >= 1, bytes >= 0 (of each rank's vector, in the type in which sums travel), constants that
// check() accepts. One rank has nothing to reduce and copies its input; no bytes cost nothing.

// `hierarchical` counts as the ring, which it is with one group; scale_model.h knows groups.
//
// peers_reachable: all ranks reach each other's memory from a kernel, as ranks on one device always do; else
// `direct` fetches and hands out by copies. Of `automatic`: of what choose() takes.
Cost predict(Algorithm algorithm, int ranks, int64_t bytes, const LinkConstants& constants,
             bool peers_reachable);

// The least time of any algorithm that moves data between ranks only, in seconds: 2 (n-1)/n S / wire_bandwidth,
// and for ranks that share a memory 2 n S / memory_bandwidth, every input read once and every output written
// once. Sums inside a switch can beat the first, a cache larger than the data the second.
double lower_bound(int ranks, int64_t bytes, const LinkConstants& constants);

// Bytes that all ranks together read and write when they share one memory: ring 7 (n-1) S, direct 2 n S, root
// (5n - 3) S.
double memory_traffic(Algorithm algorithm, int ranks, int64_t bytes);

// The algorithm with the smallest predicted time; the ring where others need exactly as long.
Algorithm choose(int ranks, int64_t bytes, const LinkConstants& constants, bool peers_reachable);

}  // namespace rondo
