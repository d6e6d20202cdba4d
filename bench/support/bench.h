// The common parts of the Google Benchmark programs: their loop, and how to report the result relative to a
// bound. bench/timing has what does not need Google Benchmark.
//
//   void BM_copy(benchmark::State& state) {
//     ... allocate, fill with normal_buffer(), run once and compare with a reference;
//     ... if it is wrong: return state.SkipWithError("...");
//     time_device_work(state, Cache::cold, {.bytes = 2.0 * n * sizeof(float)},
//                      [&](cudaStream_t stream) { return copy(out, in, stream); });
//   }
//   BENCHMARK(BM_copy)->UseManualTime();      // always UseManualTime: the time is measured on the device
//
// The library contains main(). docs/benchmarking.md explains the reported values.
#pragma once

#include <benchmark/benchmark.h>

#include <rondo/bench/timing/bound.h>
#include <rondo/bench/timing/device_time.h>
#include <rondo/bench/timing/inputs.h>
#include <rondo/bench/timing/normal_buffer.h>
#include <rondo/bench/timing/peaks.h>
#include <rondo/kernels/runtime/buffer.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rondo::bench {

enum class Cache {
  cold,  // the last-level cache is overwritten before each call; each call is timed separately
  hot,   // many calls in sequence, submitted as one graph; the time is their mean
};

// The loop of a benchmark, and its times. They make Google Benchmark's column Time, which is the mean of the
// iterations otherwise, their median:
//
//   IterationTimes times(state);
//   while (times.keep_running()) times.add(...);
//   times.finish();
//
// Google Benchmark repeats until the times add up to --benchmark_min_time. A measurement of many calls is a
// batch of `calls` iterations: it adds the time of all of them, so that a row of calls of 1 us lasts for the
// time that was asked for, and not for a hundred times it.
class IterationTimes {
 public:
  explicit IterationTimes(benchmark::State& state, int64_t calls = 1) : state_(state), calls_(calls) {}
  bool keep_running() { return state_.KeepRunningBatch(calls_); }
  // The seconds of one call: the mean of a row, or one call that stands for `calls`.
  void add(double seconds);
  // Once, after the loop: sets the column, and returns the median in seconds, or 0 without iterations.
  double finish();

 private:
  benchmark::State& state_;
  int64_t calls_;
  std::vector<double> seconds_;
};

// The benchmark's loop. Times `enqueue` with events on the device and reports
//   Time        of a call, the median over the iterations
//   FLOP/s, B/s `work` divided by that median, if it is not zero
//   share       bound / median; the label has the bound's name
// Returns the median in seconds. If `enqueue` returns an error, the benchmark fails, and 0 is returned.
double time_device_work(benchmark::State& state, Cache cache, const Work& work,
                        const EnqueueFunction& enqueue);

// The same for a bound of another kind: latency, a wire.
double time_device_work(benchmark::State& state, Cache cache, const Work& work, const Bound& bound,
                        const EnqueueFunction& enqueue);

// Another library, that computes the same.
struct Peer {
  std::string name;  // "cuBLAS tf32"
  EnqueueFunction enqueue;
};
// Hot calls beside a peer's. A row of the peer's calls and one of `enqueue` are timed in turns: equally
// often, and with the same clocks and temperature. Reports as time_device_work(), and
//   peer_seconds  of the peer's call, the median over the iterations
//   share         peer_seconds / median
void time_beside(benchmark::State& state, const Work& work, const Peer& peer, const EnqueueFunction& enqueue);

// Registers benchmarks once the device is known, so that unsupported ones can be left out. Returns true.
bool register_on_device(std::function<void()> f);
void register_benchmarks();  // calls all of them

// Registers a benchmark that fails with the message of an Error; its time is in microseconds.
void add_benchmark(const std::string& name, const std::function<void(benchmark::State&)>& body);

// `ranks` devices: 0, 1, ... if there are enough, otherwise device 0 for all.
std::vector<int> devices_for(int ranks);

}  // namespace rondo::bench
