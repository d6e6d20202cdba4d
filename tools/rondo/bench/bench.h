// `rondo bench`: times an operator, and reports its percentiles beside the bound of the machine.
#pragma once

#include <rondo/bench/timing/machine.h>
#include <rondo/bench/timing/peaks.h>
#include <rondo/bench/timing/percentiles.h>
#include <rondo/tools/rondo/bench/arguments.h>

#include <ostream>
#include <string>
#include <vector>

namespace rondo::program {

// Samples of a call.
struct BenchTimes {
  std::vector<double> samples;   // seconds of a call, in the order in which they were measured
  int64_t calls_per_sample = 1;  // more than one: a sample is the mean of as many calls
  bench::Percentiles seconds;
};

// A shape, a pass, and a state of the caches.
struct BenchRow {
  bench::Shape shape;
  std::string name;  // "gemm 1024 x 1024 x 1024"
  std::string pass;
  bool is_cold = false;
  int64_t sets = 1, set_bytes = 0;   // of operands, which take turns
  BenchTimes times = {}, peer = {};  // of the peer: no samples without one
  bench::Work work = {};
  bench::Bound bound = {};
  std::string plan = {};  // the kernel that gemm and conv choose; otherwise empty

  double share() const { return bound.seconds / times.seconds.median; }  // of the bound
  // In units per second: FLOP if the operator counts them, or bytes.
  double rate(double seconds) const { return (work.flops > 0 ? work.flops : work.bytes) / seconds; }
  bool counts_flops() const { return work.flops > 0; }
};

struct BenchReport {
  BenchArguments arguments;
  std::string machine, device;  // "AMD EPYC 9654", "cpu:0, ..."
  bench::LastLevelCache cache;
  bench::Peaks peaks;
  Arithmetic arithmetic = Arithmetic::fp32;
  double tensor_flops_per_second = 0;  // of that arithmetic; 0: not measured (bench/timing/peaks.h)
  std::string peer = {};               // "PyTorch 2.15.0, eager"; empty: none
  std::string peer_refusal = {};       // of `rondo bench all`: why the peer has no times
  std::vector<BenchRow> rows = {};
};

// Throws a bad_argument Error for options that do not fit each other.
void check(const BenchArguments& arguments);

// The number of sets of operands that take turns, so that a set is no longer cached when its turn comes:
// between two calls with the same set, others with twice the bytes of the cache are used. At most
// kMostSets, where sets are so small that this is not reached.
inline constexpr int64_t kMostSets = 16384;
int64_t cold_sets(int64_t set_bytes, int64_t cache_bytes);

class BenchPeer;

BenchReport run_bench(const BenchArguments& arguments);
// With this peer, or without one. Throws PeerRefusal (peer.h) if it cannot compute the calls.
BenchReport run_bench(const BenchArguments& arguments, BenchPeer* peer);
void show_bench_text(const BenchReport& report, std::ostream& out);
// The machine, its peaks, and the last-level cache with the sets of cold calls: a line each.
void show_bench_machine(const BenchReport& report, std::ostream& out);
std::string microseconds_text(double seconds);  // "12.34", "1235"
std::string bench_json(const BenchReport& report);
std::string bench_json(const std::vector<BenchReport>& reports);  // an array
std::string bench_csv(const BenchReport& report);
std::string bench_svg(const BenchReport& report);

// Runs, and writes what the arguments ask for.
void show_bench(const BenchArguments& arguments, std::ostream& out);

}  // namespace rondo::program
