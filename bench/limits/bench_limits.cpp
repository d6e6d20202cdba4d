// The limits of the machine, independent of Rondo's kernels: bandwidth by size, and the cost of a launch, of
// a graph node, and of a copy between devices. All bounds of this project are computed from these.

#include <rondo/bench/support/bench.h>
#include <rondo/bench/timing/peak_kernels.h>
#include <rondo/bench/timing/row.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace rondo::bench {
namespace {

Bound copy_bound(double bytes) { return {bytes / peaks().copy_bytes_per_second, "copy bandwidth"}; }

// The first values of a buffer: enough to verify a kernel, and fast for a large buffer.
std::vector<float> head(const Buffer<float>& buffer) {
  std::vector<float> values(static_cast<size_t>(std::min<int64_t>(buffer.size(), kStreamMultiple)));
  RONDO_CUDA_THROW(
      cudaMemcpy(values.data(), buffer.data(), values.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return values;
}

int64_t count_of(const benchmark::State& state) {
  return state.range(0) / static_cast<int64_t>(sizeof(float));
}

void copy(benchmark::State& state, Cache cache) {
  const int64_t count = count_of(state);
  Buffer<float> from = normal_buffer(count, 1), to(count);
  const auto work = [&](cudaStream_t stream) {
    return stream_copy({to.data(), count}, {from.data(), count}, stream);
  };
  run_once(work);
  if (head(to) != head(from)) return state.SkipWithError("the copy differs from the original");
  const double bytes = 2.0 * static_cast<double>(from.bytes());
  time_device_work(state, cache, {.bytes = bytes}, copy_bound(bytes), work);
}

void triad(benchmark::State& state, Cache cache) {
  constexpr float kFactor = 0.5f;
  const int64_t count = count_of(state);
  Buffer<float> a = normal_buffer(count, 1), b = normal_buffer(count, 2), to(count);
  const auto work = [&](cudaStream_t stream) {
    return stream_triad({to.data(), count}, {a.data(), count}, {b.data(), count}, kFactor, stream);
  };
  run_once(work);
  const std::vector<float> xs = head(a), ys = head(b), found = head(to);
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i] != std::fma(kFactor, ys[i], xs[i])) return state.SkipWithError("the triad is wrong");
  const double bytes = 3.0 * static_cast<double>(to.bytes());
  time_device_work(state, cache, {.bytes = bytes}, copy_bound(bytes), work);
}

void read_only(benchmark::State& state, Cache cache) {
  const int64_t count = count_of(state);
  Buffer<float> from = normal_buffer(count, 1), sums(stream_read_sums(count));
  const auto work = [&](cudaStream_t stream) {
    return stream_read({sums.data(), sums.size()}, {from.data(), count}, stream);
  };
  run_once(work);
  double expected = 0, found = 0;
  for (float value : head(from)) expected += value;
  const std::vector<float> all_sums = sums.download();
  for (int64_t i = 0; i < stream_read_sums(kStreamMultiple); ++i) found += all_sums[static_cast<size_t>(i)];
  if (!(std::abs(found - expected) < 1e-2)) return state.SkipWithError("the sum is wrong");
  const double bytes = static_cast<double>(from.bytes() + sums.bytes());
  time_device_work(state, cache, {.bytes = bytes}, copy_bound(bytes), work);
}

void stream_sizes(benchmark::internal::Benchmark* benchmark) {
  for (int64_t bytes = int64_t{64} << 10; bytes <= int64_t{256} << 20; bytes *= 8) benchmark->Arg(bytes);
  benchmark->ArgName("bytes")->UseManualTime()->Unit(benchmark::kMicrosecond);
}
BENCHMARK_CAPTURE(copy, hot, Cache::hot)->Apply(stream_sizes);
BENCHMARK_CAPTURE(copy, cold, Cache::cold)->Apply(stream_sizes);
BENCHMARK_CAPTURE(triad, cold, Cache::cold)->Apply(stream_sizes);
BENCHMARK_CAPTURE(read_only, cold, Cache::cold)->Apply(stream_sizes);

// Empty kernels launched one by one. The time is the cost of a launch for the stream, `host_seconds` its cost
// for the calling thread. The slower of the two determines the rate.
void launch_eager(benchmark::State& state) {
  constexpr int kLaunches = 1000;
  Stream stream;
  double host_seconds = 0;
  IterationTimes times(state, kLaunches);
  while (times.keep_running()) {
    const double seconds = seconds_of(stream, [&](cudaStream_t s) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < kLaunches; ++i) throw_if_error(empty_kernel(s));
      host_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    });
    times.add(seconds / kLaunches);
  }
  times.finish();
  state.counters["host_seconds"] = host_seconds / static_cast<double>(state.iterations());
}
BENCHMARK(launch_eager)->UseManualTime()->Unit(benchmark::kMicrosecond);

// A graph with the given number of empty kernels in sequence. The slope is the time of one node; the rest at
// one node is the cost of launching the graph.
void launch_graph(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  Stream stream;
  throw_if_error(empty_kernel(stream));
  Row row(stream, empty_kernel, nodes);
  row.launch(stream);
  IterationTimes times(state);
  while (times.keep_running()) times.add(seconds_of(stream, [&](cudaStream_t s) { row.launch(s); }));
  state.counters["nodes/s"] = nodes / times.finish();
}
BENCHMARK(launch_graph)
    ->ArgName("nodes")
    ->Arg(1)
    ->Arg(10)
    ->Arg(100)
    ->Arg(1000)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

// A launch followed by a synchronisation: the host's cost of reading back one number.
void launch_and_wait(benchmark::State& state) {
  Stream stream;
  for (auto _ : state) {
    throw_if_error(empty_kernel(stream));
    stream.synchronize();
  }
}
BENCHMARK(launch_and_wait)->UseRealTime()->Unit(benchmark::kMicrosecond);

// cudaMemcpyPeerAsync by size: within device 0 (as for ranks that share a device), and to another device if
// there is one.
void peer_copy(benchmark::State& state) {
  const int64_t bytes = state.range(0);
  int devices = 0;
  RONDO_CUDA_THROW(cudaGetDeviceCount(&devices));
  const int to_device = state.range(1) != 0 && devices > 1 ? 1 : 0;
  Buffer<float> from = normal_buffer(count_of(state), 1);
  const DeviceScope other(to_device);
  Buffer<float> to(count_of(state));
  const DeviceScope source(0);
  const auto work = [&](cudaStream_t stream) {
    return from_cuda(
        cudaMemcpyPeerAsync(to.data(), to_device, from.data(), 0, static_cast<size_t>(bytes), stream),
        "peer copy");
  };
  run_once(work);
  if (head(to) != head(from)) return state.SkipWithError("the copy differs from the original");
  // Cache::hot would submit many copies as one graph, but some driver versions cannot capture copies between
  // devices.
  time_device_work(state, Cache::cold, {.bytes = static_cast<double>(bytes)}, Bound{}, work);
  state.SetLabel(concat("device 0 to ", to_device));
}
BENCHMARK(peer_copy)
    ->ArgNames({"bytes", "other"})
    ->ArgsProduct({benchmark::CreateRange(4 << 10, 256 << 20, 16), {0, 1}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rondo::bench
