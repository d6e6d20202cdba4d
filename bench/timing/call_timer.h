// CallTimer: samples of the time of a call whose operands may change from call to call.
//
// A sample is the device time between two events, one before and one after a call. Samples are enqueued in
// batches behind two calls that are not timed, so that the host is ahead of the device and its time is not
// part of a sample. The resolution of CUDA's events is about 0.5 us ("CUDA Runtime API", Event Management),
// so a call shorter than kShortestSample is timed in a row: many calls recorded as one graph, and a sample is
// their mean. A call that seems shorter than twice kShortestSample is tried in a row, whose mean decides.
#pragma once

#include <rondo/bench/timing/device_time.h>
#include <rondo/bench/timing/row.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace rondo::bench {

inline constexpr double kShortestSample = 10e-6;  // seconds

// Enqueues a call. `index` counts the calls from 0, and selects the operands.
using IndexedCall = std::function<Status(int64_t index, cudaStream_t)>;

class CallTimer {
 public:
  // `period`: the number of calls after which the operands repeat. A row has a multiple of it, so that each
  // row uses all operands. Calls shorter than `shortest` seconds are timed in rows. Runs the call some times.
  // Throws rondo::Error if it fails.
  CallTimer(cudaStream_t stream, IndexedCall call, int64_t period, double shortest = kShortestSample);

  int64_t calls_per_sample() const { return calls_; }
  // Of the sample after the warm-up; an estimate.
  double sample_seconds() const { return estimate_ * static_cast<double>(calls_); }

  // Appends the times of a call, in seconds, of `count` samples.
  void sample(int64_t count, std::vector<double>& seconds);

 private:
  Status call_next(cudaStream_t stream) { return call_(next_++, stream); }
  void sample_calls(int64_t count, std::vector<double>& seconds);

  cudaStream_t stream_;
  IndexedCall call_;
  int64_t next_ = 0;
  double estimate_ = 0;  // seconds of a call
  int64_t calls_ = 1;
  std::unique_ptr<Row> row_;  // of `calls_` calls; null: a sample is one call
};

}  // namespace rondo::bench
