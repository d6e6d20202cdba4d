// A cost model of the all-reduce: a formula for each algorithm, a lower bound for all algorithms, and the
// choice between them. Pure functions without CUDA; docs/ring.md derives the formulas.
//
// n ranks, S bytes per rank. A copy takes copy_latency + bytes / wire_bandwidth. A kernel takes
// kernel_latency + the bytes it moves / memory_bandwidth. Enqueueing either takes the host
// host_seconds_per_call.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/kernels/core/status.h>

#include <cstdint>

namespace rondo {

// The constants of one machine. The defaults are orders of magnitude for ranks on PCIe 4.0: good enough to
// rank the algorithms, not measurements of any machine. Measure and fit your own (alpha_beta.h).
struct LinkConstants {
  double host_seconds_per_call = 4e-6;    // to enqueue one copy or kernel, with the events that order it
  double copy_latency = 6e-6;             // s: a copy of 0 bytes, including the wait for its dependencies
  double kernel_latency = 4e-6;           // s: the same for a kernel
  double wire_bandwidth = 25e9;           // B/s in each direction: copies over the slowest link of the ring
  double peer_bandwidth = 25e9;           // B/s in each direction: between one rank and all others at once
  double memory_bandwidth = 1e12;         // B/s of one device's memory, reads and writes together
  bool ranks_share_one_memory = false;    // all ranks on one device; false: one device each
  int64_t slot_bytes = int64_t{4} << 20;  // CommunicatorOptions::slot_bytes: the largest segment
};

// Checks that times are finite and not negative, bandwidths finite and above 0, and slot_bytes at least 16.
Status check(const LinkConstants& constants);

enum class Term { latency, wire, reduction, host };
const char* name_of(Term term);

// The predicted time in seconds, by component.
struct Cost {
  double latency = 0;    // dependent steps, each with the latency of a copy or a kernel
  double wire = 0;       // data movement over the links, or through the memory that the ranks share
  double reduction = 0;  // sums that are not hidden by copies
  double host = 0;       // one thread that enqueues all copies and kernels of all ranks

  double on_devices() const { return latency + wire + reduction; }
  // Devices and host work in parallel, so the slower one determines the time.
  double seconds() const { return host > on_devices() ? host : on_devices(); }
  // The component to optimise first: the host if it determines the time, otherwise the largest of the others.
  Term dominating() const;
};

// All functions below require ranks >= 1, bytes >= 0 (the size of each rank's vector, in the type of its
// partial sums) and constants that check() accepts. A single rank only copies its input. 0 bytes take
// no time.

// `hierarchical` is treated as a ring of all ranks, which it is with one group; scale_model.h models groups.
// `automatic` is treated as the algorithm that choose() returns. peers_reachable: kernels of each rank can
// access the memory of all others, which is always true on one device. If false, `direct` uses copies.
Cost predict(Algorithm algorithm, int ranks, int64_t bytes, const LinkConstants& constants,
             bool peers_reachable);

// The minimum time in seconds of any algorithm that only moves data between ranks: 2 (n-1)/n S /
// wire_bandwidth. For ranks that share a memory: 2 n S / memory_bandwidth, since every input is read and
// every output written once. Sums inside a switch can be faster than the first bound, a cache larger than the
// data faster than the second.
double lower_bound(int ranks, int64_t bytes, const LinkConstants& constants);

// Bytes that all ranks together read and write if they share one memory: ring 7 (n-1) S, direct 2 n S, root
// (5n - 3) S.
double memory_traffic(Algorithm algorithm, int ranks, int64_t bytes);

// The algorithm with the smallest predicted time; the ring if others take equally long.
Algorithm choose(int ranks, int64_t bytes, const LinkConstants& constants, bool peers_reachable);

}  // namespace rondo
