// What every benchmark shares: one way to time, one way to say how far from a bound the result is.
//
//   void BM_copy(benchmark::State& state) {
//     ... allocate, fill with normal_buffer(), run once and compare with a reference;
//     ... when it is wrong: return state.SkipWithError("...");
//     time_device_work(state, Cache::cold, {.bytes = 2.0 * n * sizeof(float)},
//                      [&](cudaStream_t stream) { return copy(out, in, stream); });
//   }
//   BENCHMARK(BM_copy)->UseManualTime();      // UseManualTime always: the time is the device's
//
// main() comes with the library. docs/benchmarking.md says what the figures mean.
#pragma once

#include <benchmark/benchmark.h>

#include <rondo/bench/support/peaks.h>
#include <rondo/kernels/runtime/buffer.h>

#include <cstdint>
#include <functional>
#include <string>

namespace rondo::bench {

// What one call has to do at least: every input read once, every output written once.
struct Work {
  double flops = 0;
  double bytes = 0;
};

// The shortest time in which something can be done, and what sets it.
struct Bound {
  double seconds = 0;
  std::string name;
};

// The larger of flops / measured fp32 FMA peak and bytes / measured copy bandwidth of the current device.
Bound bound_of(const Work& work);

enum class Cache {
  cold,  // before each call the L2 cache is filled with something else; each call is timed by itself
  hot,   // the same call many times in a row, submitted as one graph; the time is the mean of the row
};

// Enqueues one call on the stream.
using Enqueue = std::function<Status(cudaStream_t)>;

// The benchmark's loop. Times `enqueue` with events on the device and reports
//   median      seconds of one call, over the iterations
//   FLOP/s, B/s what `work` says over that median, where it is not zero
//   share       bound / median, the bound being the label's
// An error of `enqueue` ends the benchmark as failed.
void time_device_work(benchmark::State& state, Cache cache, const Work& work, const Enqueue& enqueue);

// The same for work whose bound is of another kind: latency, a wire, a vendor's library.
void time_device_work(benchmark::State& state, Cache cache, const Work& work, const Bound& bound,
                      const Enqueue& enqueue);

// N(0, 1) values on the current device; after about a million they repeat. Never time zeros or constants: on
// them a GPU draws less power and runs faster than on anything real.
Buffer<float> normal_buffer(int64_t count, uint64_t seed);

// Seconds between two events around what `enqueue` puts on the stream; waits for it.
double seconds_of(cudaStream_t stream, const std::function<void(cudaStream_t)>& enqueue);

}  // namespace rondo::bench
