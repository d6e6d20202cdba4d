#include <rondo/bench/support/bench.h>
#include <rondo/bench/timing/cache_flush.h>
#include <rondo/bench/timing/percentiles.h>
#include <rondo/bench/timing/row.h>
#include <rondo/kernels/runtime/platform.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace rondo::bench {
namespace {

// Target duration of a row of hot calls: long compared with its launch, short compared with a benchmark.
constexpr double kRowSeconds = 1e-3;
constexpr int kLongestRow = 100;

// How many calls take as long as `seconds`, 1 to kLongestRow.
int calls_within(double seconds, double of_a_call) {
  return static_cast<int>(std::clamp<double>(seconds / std::max(of_a_call, 1e-9), 1, kLongestRow));
}

double time_cold(benchmark::State& state, cudaStream_t stream, const EnqueueFunction& enqueue) {
  CacheFlush flush;
  Event begin(Event::Kind::timing), end(Event::Kind::timing);
  // An iteration takes as long as the flush, so a short call stands for as many as would fit into it.
  flush.enqueue(stream);  // the first one may take longer
  const double flush_seconds = seconds_of(stream, [&](cudaStream_t s) { flush.enqueue(s); });
  const double call_seconds = seconds_of_call(stream, enqueue);
  IterationTimes times(state, calls_within(flush_seconds, call_seconds));
  while (times.keep_running()) {
    // The host enqueues the rest while the device flushes, so the call starts directly after the first event.
    flush.enqueue(stream);
    RONDO_CUDA_THROW(cudaEventRecord(begin, stream));
    throw_if_error(enqueue(stream));
    RONDO_CUDA_THROW(cudaEventRecord(end, stream));
    times.add(seconds_between(begin, end));
  }
  return times.finish();
}

// A row of calls, launched as one graph.
class HotRow {
 public:
  HotRow(cudaStream_t stream, const EnqueueFunction& enqueue)
      : stream_(stream), count_(count(stream, enqueue)), row_(stream, enqueue, count_) {
    row_.launch(stream);
  }
  int calls() const { return count_; }
  // Of one call.
  double seconds() {
    return seconds_of(stream_, [&](cudaStream_t s) { row_.launch(s); }) / count_;
  }

 private:
  static int count(cudaStream_t stream, const EnqueueFunction& enqueue) {
    const double once = seconds_of_call(stream, enqueue);
    return calls_within(kRowSeconds, once);
  }

  cudaStream_t stream_;
  int count_;
  Row row_;
};

double time_hot(benchmark::State& state, cudaStream_t stream, const EnqueueFunction& enqueue) {
  HotRow row(stream, enqueue);
  IterationTimes times(state, row.calls());
  while (times.keep_running()) times.add(row.seconds());
  return times.finish();
}

// The medians.
struct InTurns {
  double peer, own;
};
InTurns time_in_turns(benchmark::State& state, cudaStream_t stream, const EnqueueFunction& peer,
                      const EnqueueFunction& own) {
  HotRow peer_row(stream, peer), own_row(stream, own);
  std::vector<double> of_peer;
  IterationTimes times(state, own_row.calls());
  while (times.keep_running()) {
    of_peer.push_back(peer_row.seconds());
    times.add(own_row.seconds());
  }
  return {of_peer.empty() ? 0 : median_of(std::move(of_peer)), times.finish()};
}

// The counters that depend on the time of a call and on its bound.
void report(benchmark::State& state, const Work& work, const Bound& bound, double seconds) {
  if (work.flops > 0) state.counters["FLOP/s"] = work.flops / seconds;
  if (work.bytes > 0) state.counters["B/s"] = work.bytes / seconds;
  if (bound.seconds > 0) {
    state.counters["share"] = bound.seconds / seconds;
    state.SetLabel("of " + bound.name);
  }
}

}  // namespace

void IterationTimes::add(double seconds) {
  seconds_.push_back(seconds);
  state_.SetIterationTime(seconds * static_cast<double>(calls_));
}

double IterationTimes::finish() {
  if (seconds_.empty()) return 0;
  const double middle = median_of(seconds_);
  // Google Benchmark divides the sum of the times by their number.
  const double sum = std::accumulate(seconds_.begin(), seconds_.end(), 0.0);
  state_.SetIterationTime((middle * static_cast<double>(seconds_.size()) - sum) *
                          static_cast<double>(calls_));
  return middle;
}

double time_device_work(benchmark::State& state, Cache cache, const Work& work,
                        const EnqueueFunction& enqueue) {
  return time_device_work(state, cache, work, bound_of(work), enqueue);
}

double time_device_work(benchmark::State& state, Cache cache, const Work& work, const Bound& bound,
                        const EnqueueFunction& enqueue) {
  Stream stream;
  double seconds = 0;
  try {
    warm_up(stream, enqueue);
    seconds = cache == Cache::cold ? time_cold(state, stream, enqueue) : time_hot(state, stream, enqueue);
  } catch (const Error& error) {
    state.SkipWithError(error.what());
    return 0;
  }
  if (seconds > 0) report(state, work, bound, seconds);
  return seconds;
}

void time_beside(benchmark::State& state, const Work& work, const Peer& peer,
                 const EnqueueFunction& enqueue) {
  Stream stream;
  InTurns seconds{};
  try {
    warm_up(stream, peer.enqueue);
    warm_up(stream, enqueue);
    seconds = time_in_turns(state, stream, peer.enqueue, enqueue);
  } catch (const Error& error) {
    state.SkipWithError(error.what());
    return;
  }
  if (seconds.own <= 0) return;
  state.counters["peer_seconds"] = seconds.peer;
  report(state, work, {seconds.peer, peer.name}, seconds.own);
}

void add_benchmark(const std::string& name, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [body](benchmark::State& state) {
                                 try {
                                   body(state);
                                 } catch (const Error& error) {
                                   state.SkipWithError(error.what());
                                 }
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

std::vector<int> devices_for(int ranks) {
  std::vector<int> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back(ranks <= device_count() ? rank : 0);
  return devices;
}

namespace {
std::vector<std::function<void()>>& registrations() {
  static std::vector<std::function<void()>> all;
  return all;
}
}  // namespace

bool register_on_device(std::function<void()> f) {
  registrations().push_back(std::move(f));
  return true;
}
void register_benchmarks() {
  for (const std::function<void()>& f : registrations()) f();
}

}  // namespace rondo::bench
