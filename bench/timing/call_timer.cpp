#include <rondo/bench/timing/call_timer.h>
#include <rondo/bench/timing/percentiles.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace rondo::bench {
namespace {

constexpr double kRowSeconds = 200e-6;  // of a row of short calls, at least
constexpr int64_t kLongestRow = 16384;
constexpr int64_t kBatch = 16;    // samples that are enqueued together
constexpr int kLeadingCalls = 2;  // before each batch
constexpr int kTrials = 5;
// A single call that is this much slower than the limit is long enough, with its noise and the time of its
// events.
constexpr double kClearly = 2;

// The median of some trials.
template <class Measure>
double tried(const Measure& measure) {
  std::vector<double> trials;
  for (int i = 0; i < kTrials; ++i) trials.push_back(measure());
  return std::max(median_of(trials), 1e-9);
}

}  // namespace

CallTimer::CallTimer(cudaStream_t stream, IndexedCall call, int64_t period, double shortest)
    : stream_(stream), call_(std::move(call)) {
  const auto next = [this](cudaStream_t s) { return call_next(s); };
  warm_up(stream_, next);
  estimate_ = tried([&] { return seconds_of_call(stream_, next); });
  if (estimate_ >= kClearly * shortest) return;
  // Near the limit the mean of a row decides: it has less noise than a call, so that the choice is the same
  // in most runs.
  const auto wanted = static_cast<int64_t>(std::ceil(kRowSeconds / estimate_));
  calls_ = std::clamp((wanted + period - 1) / period * period, std::min(period, kLongestRow), kLongestRow);
  row_ = std::make_unique<Row>(stream_, next, static_cast<int>(calls_));
  row_->launch(stream_);
  estimate_ = tried([&] { return seconds_of(stream_, [this](cudaStream_t s) { row_->launch(s); }); }) /
              static_cast<double>(calls_);
  if (estimate_ < shortest) return;
  row_.reset();
  calls_ = 1;
}

void CallTimer::sample(int64_t count, std::vector<double>& seconds) {
  if (!row_) return sample_calls(count, seconds);
  for (int64_t i = 0; i < count; ++i)
    seconds.push_back(seconds_of(stream_, [this](cudaStream_t s) { row_->launch(s); }) /
                      static_cast<double>(calls_));
}

void CallTimer::sample_calls(int64_t count, std::vector<double>& seconds) {
  while (count > 0) {
    const int64_t batch = std::min(count, kBatch);
    std::vector<Event> events;
    for (int64_t i = 0; i <= batch; ++i) events.emplace_back(Event::Kind::timing);
    for (int i = 0; i < kLeadingCalls; ++i) throw_if_error(call_next(stream_));
    RONDO_CUDA_THROW(cudaEventRecord(events[0], stream_));
    for (size_t i = 1; i < events.size(); ++i) {
      throw_if_error(call_next(stream_));
      RONDO_CUDA_THROW(cudaEventRecord(events[i], stream_));
    }
    for (size_t i = 1; i < events.size(); ++i) seconds.push_back(seconds_between(events[i - 1], events[i]));
    count -= batch;
  }
}

}  // namespace rondo::bench
