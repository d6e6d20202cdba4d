#include <rondo/bench/support/bench.h>
#include <rondo/bench/support/inputs.h>
#include <rondo/bench/support/row.h>
#include <rondo/kernels/runtime/platform.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace rondo::bench {
namespace {

// Target duration of a row of hot calls: long compared with its launch, short compared with a benchmark.
constexpr double kRowSeconds = 1e-3;
constexpr int kLongestRow = 100;

// Overwrites the cache by writing a buffer of twice its size.
class CacheFlush {
 public:
  CacheFlush() : buffer_(bytes()) {}
  void enqueue(cudaStream_t stream) {
    RONDO_CUDA_THROW(cudaMemsetAsync(buffer_.data(), 0, static_cast<size_t>(buffer_.bytes()), stream));
  }

 private:
  static int64_t bytes() {
    int device = 0;
    cudaDeviceProp properties;
    RONDO_CUDA_THROW(cudaGetDevice(&device));
    RONDO_CUDA_THROW(cudaGetDeviceProperties(&properties, device));
    return std::max<int64_t>(2 * static_cast<int64_t>(properties.l2CacheSize), 4 << 20);
  }

  Buffer<unsigned char> buffer_;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<double> cold_samples(benchmark::State& state, cudaStream_t stream,
                                 const EnqueueFunction& enqueue) {
  CacheFlush flush;
  Event begin(Event::Kind::timing), end(Event::Kind::timing);
  std::vector<double> samples;
  for (auto _ : state) {
    // The host enqueues the rest while the device flushes, so the call starts directly after the first event.
    flush.enqueue(stream);
    RONDO_CUDA_THROW(cudaEventRecord(begin, stream));
    throw_if_error(enqueue(stream));
    RONDO_CUDA_THROW(cudaEventRecord(end, stream));
    RONDO_CUDA_THROW(cudaEventSynchronize(end));
    float milliseconds = 0;
    RONDO_CUDA_THROW(cudaEventElapsedTime(&milliseconds, begin, end));
    samples.push_back(milliseconds * 1e-3);
    state.SetIterationTime(samples.back());
  }
  return samples;
}

// A row of calls, launched as one graph.
class HotRow {
 public:
  HotRow(cudaStream_t stream, const EnqueueFunction& enqueue)
      : stream_(stream), count_(count(stream, enqueue)), row_(stream, enqueue, count_) {
    row_.launch(stream);
  }
  // Of one call.
  double seconds() {
    return seconds_of(stream_, [&](cudaStream_t s) { row_.launch(s); }) / count_;
  }

 private:
  static int count(cudaStream_t stream, const EnqueueFunction& enqueue) {
    const double once = seconds_of(stream, [&](cudaStream_t s) { throw_if_error(enqueue(s)); });
    return std::clamp(static_cast<int>(kRowSeconds / std::max(once, 1e-9)), 1, kLongestRow);
  }

  cudaStream_t stream_;
  int count_;
  Row row_;
};

std::vector<double> hot_samples(benchmark::State& state, cudaStream_t stream,
                                const EnqueueFunction& enqueue) {
  HotRow row(stream, enqueue);
  std::vector<double> samples;
  for (auto _ : state) {
    samples.push_back(row.seconds());
    state.SetIterationTime(samples.back());
  }
  return samples;
}

struct InTurns {
  std::vector<double> peer, own;
};
InTurns samples_in_turns(benchmark::State& state, cudaStream_t stream, const EnqueueFunction& peer,
                         const EnqueueFunction& own) {
  HotRow peer_row(stream, peer), own_row(stream, own);
  InTurns samples;
  for (auto _ : state) {
    samples.peer.push_back(peer_row.seconds());
    samples.own.push_back(own_row.seconds());
    state.SetIterationTime(samples.own.back());
  }
  return samples;
}

// The counters that depend on the time of a call and on its bound.
void report(benchmark::State& state, const Work& work, const Bound& bound, double seconds) {
  state.counters["median"] = seconds;
  if (work.flops > 0) state.counters["FLOP/s"] = work.flops / seconds;
  if (work.bytes > 0) state.counters["B/s"] = work.bytes / seconds;
  if (bound.seconds > 0) {
    state.counters["share"] = bound.seconds / seconds;
    state.SetLabel("of " + bound.name);
  }
}

// Calls once: loads the kernels, and detects errors before the timing.
void warm_up(cudaStream_t stream, const EnqueueFunction& enqueue) {
  throw_if_error(enqueue(stream));
  RONDO_CUDA_THROW(cudaStreamSynchronize(stream));
}

}  // namespace

void run_once(const EnqueueFunction& enqueue) {
  Stream stream;
  throw_if_error(enqueue(stream));
  stream.synchronize();
}

double seconds_of(cudaStream_t stream, const std::function<void(cudaStream_t)>& enqueue) {
  Event begin(Event::Kind::timing), end(Event::Kind::timing);
  RONDO_CUDA_THROW(cudaEventRecord(begin, stream));
  enqueue(stream);
  RONDO_CUDA_THROW(cudaEventRecord(end, stream));
  RONDO_CUDA_THROW(cudaEventSynchronize(end));
  float milliseconds = 0;
  RONDO_CUDA_THROW(cudaEventElapsedTime(&milliseconds, begin, end));
  return milliseconds * 1e-3;
}

void fill_repeatedly(void* data, int64_t bytes, const void* values, int64_t period) {
  char* const to = static_cast<char*>(data);
  int64_t filled = std::min(period, bytes);
  RONDO_CUDA_THROW(cudaMemcpy(to, values, static_cast<size_t>(filled), cudaMemcpyHostToDevice));
  while (filled < bytes) {
    const int64_t more = std::min(filled, bytes - filled);
    RONDO_CUDA_THROW(cudaMemcpy(to + filled, to, static_cast<size_t>(more), cudaMemcpyDeviceToDevice));
    filled += more;
  }
  // Copies between device memory do not wait, nor do streams for those of the default stream.
  RONDO_CUDA_THROW(cudaStreamSynchronize(cudaStreamLegacy));
}

Bound bound_of(const Work& work) {
  const double compute = work.flops / peaks().fma_flops_per_second;
  const double memory = work.bytes / peaks().copy_bytes_per_second;
  if (compute > memory) return {compute, "fp32 FMA peak"};
  return {memory, "copy bandwidth"};
}

void time_device_work(benchmark::State& state, Cache cache, const Work& work,
                      const EnqueueFunction& enqueue) {
  time_device_work(state, cache, work, bound_of(work), enqueue);
}

void time_device_work(benchmark::State& state, Cache cache, const Work& work, const Bound& bound,
                      const EnqueueFunction& enqueue) {
  Stream stream;
  std::vector<double> samples;
  try {
    warm_up(stream, enqueue);
    samples =
        cache == Cache::cold ? cold_samples(state, stream, enqueue) : hot_samples(state, stream, enqueue);
  } catch (const Error& error) {
    state.SkipWithError(error.what());
    return;
  }
  if (samples.empty()) return;
  report(state, work, bound, median(std::move(samples)));
}

void time_beside(benchmark::State& state, const Work& work, const Peer& peer,
                 const EnqueueFunction& enqueue) {
  Stream stream;
  InTurns samples;
  try {
    warm_up(stream, peer.enqueue);
    warm_up(stream, enqueue);
    samples = samples_in_turns(state, stream, peer.enqueue, enqueue);
  } catch (const Error& error) {
    state.SkipWithError(error.what());
    return;
  }
  if (samples.own.empty()) return;
  const double of_peer = median(std::move(samples.peer));
  state.counters["peer"] = of_peer;
  report(state, work, {of_peer, peer.name}, median(std::move(samples.own)));
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
