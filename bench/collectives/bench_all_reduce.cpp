// all_reduce for each algorithm, number of ranks, number of bytes and placement. Reports algbw = S/t,
// busbw = 2(n-1)/n * S/t (derived in collectives/README.md), and the share of the bound. The operation is
// replayed from a graph.
//
// If each rank has its own device, the bound is the wire: busbw is compared with a large peer copy, timed in
// the same run. If the ranks share a memory (one device, or all devices of the CPU executor), the bound is
// that memory: every input is read once and every output written once, at the copy bandwidth. Data that fits
// the cache may exceed it.

#include <rondo/bench/support/bench.h>
#include <rondo/collectives/collectives.h>
#include <rondo/kernels/runtime/platform.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

namespace rondo::bench {
namespace {

struct Ranks {
  Ranks(std::vector<int> rank_devices, int64_t count, Algorithm by)
      : devices(std::move(rank_devices)), algorithm(by), communicator(devices, {.bucket_bytes = 0}) {
    for (size_t rank = 0; rank < devices.size(); ++rank) {
      DeviceScope scope(devices[rank]);
      inputs.push_back(normal_buffer(count, rank + 1));
      outputs.emplace_back(count);
      input_views.push_back({inputs.back().data(), count, DType::float32});
      output_views.push_back({outputs.back().data(), count, DType::float32});
      handles.push_back(streams.emplace_back());
      events.emplace_back();
    }
  }

  // The vectors must outlive the work on the streams, also of a call that failed after it had enqueued some.
  ~Ranks() {
    for (const int device : std::set<int>(devices.begin(), devices.end())) {
      Status status;
      const DeviceScope scope(device, status);
      static_cast<void>(cudaDeviceSynchronize());
    }
  }
  Ranks(const Ranks&) = delete;

  // Enqueues on `stream`, which replaces rank 0's stream. The other ranks' streams fork from it and join it
  // again.
  Status enqueue(cudaStream_t stream) {
    handles[0] = stream;
    RONDO_CUDA(cudaEventRecord(events[0], stream));
    for (size_t rank = 1; rank < devices.size(); ++rank)
      RONDO_CUDA(cudaStreamWaitEvent(handles[rank], events[0], 0));
    RONDO_RETURN_IF_ERROR(
        all_reduce(output_views, input_views, {.algorithm = algorithm}, communicator, handles));
    for (size_t rank = 1; rank < devices.size(); ++rank) {
      RONDO_CUDA(cudaEventRecord(events[rank], handles[rank]));
      RONDO_CUDA(cudaStreamWaitEvent(stream, events[rank], 0));
    }
    return {};
  }

  // Compares the first and the last elements of every rank with sums in double precision.
  bool is_right() const {
    constexpr int64_t kSample = 1000;
    const int64_t count = outputs[0].size();
    for (int64_t begin : {int64_t{0}, std::max<int64_t>(count - kSample, 0)}) {
      const int64_t size = std::min(kSample, count - begin);
      std::vector<double> sum(static_cast<size_t>(size)), magnitude(static_cast<size_t>(size));
      for (const Buffer<float>& input : inputs) {
        const std::vector<float> values = part(input, begin, size);
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += values[i], magnitude[i] += std::abs(values[i]);
      }
      for (const Buffer<float>& output : outputs) {
        const std::vector<float> values = part(output, begin, size);
        for (size_t i = 0; i < sum.size(); ++i) {
          const double allowed = 0x1p-24 * static_cast<double>(inputs.size()) * magnitude[i];
          if (!(std::abs(values[i] - sum[i]) <= allowed)) return false;
        }
      }
    }
    return true;
  }

  static std::vector<float> part(const Buffer<float>& buffer, int64_t begin, int64_t size) {
    std::vector<float> values(static_cast<size_t>(size));
    RONDO_CUDA_THROW(cudaMemcpy(values.data(), buffer.data() + begin, values.size() * sizeof(float),
                                cudaMemcpyDeviceToHost));
    return values;
  }

  std::vector<int> devices;
  Algorithm algorithm;
  Communicator communicator;
  std::vector<Buffer<float>> inputs, outputs;
  std::vector<ConstDataView> input_views;
  std::vector<DataView> output_views;
  std::vector<Stream> streams;
  std::vector<cudaStream_t> handles;
  std::vector<Event> events;
};

// Bytes per second of a large copy from device 0 to device 1; measured once.
double wire_bytes_per_second() {
  static const double measured = [] {
    constexpr int64_t kCount = 64 << 20;
    const DeviceScope source(0);
    const Buffer<float> from = normal_buffer(kCount, 1);
    const Stream stream;
    const DeviceScope target(1);
    Buffer<float> to(kCount);
    const DeviceScope back(0);
    double best = 0;
    for (int repeat = 0; repeat < 5; ++repeat) {
      const double seconds = seconds_of(stream, [&](cudaStream_t s) {
        RONDO_CUDA_THROW(
            cudaMemcpyPeerAsync(to.data(), 1, from.data(), 0, static_cast<size_t>(to.bytes()), s));
      });
      best = std::max(best, static_cast<double>(to.bytes()) / seconds);
    }
    return best;
  }();
  return measured;
}

void BM_all_reduce(benchmark::State& state) {
  const auto bytes = static_cast<double>(state.range(0));
  const auto ranks = static_cast<int>(state.range(1));
  // One device per rank if requested and if there are enough devices; otherwise all ranks on device 0.
  const bool spread = state.range(2) != 0 && ranks <= device_count();
  std::vector<int> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back(spread ? rank : 0);
  const double bus_bytes = 2.0 * (ranks - 1) / ranks * bytes;
  const Algorithm algorithm = kAlgorithms[state.range(3)];
  Bound bound;
  double seconds = 0;
  try {
    const DeviceScope scope(0);
    Ranks all(devices, state.range(0) / static_cast<int64_t>(sizeof(float)), algorithm);
    throw_if_error(all.enqueue(all.handles[0]));
    all.streams[0].synchronize();
    if (!all.is_right()) return state.SkipWithError("the sum is wrong");
    const bool one_memory = !spread || std::string(platform()) == "cpu";
    bound = one_memory
                ? Bound{2 * ranks * bytes / peaks().copy_bytes_per_second, "memory: 2 n S / copy bandwidth"}
                : Bound{bus_bytes / wire_bytes_per_second(), "wire: 2 (n-1)/n S / peer copy bandwidth"};
    seconds = time_device_work(state, Cache::hot, {}, bound,
                               [&](cudaStream_t stream) { return all.enqueue(stream); });
  } catch (const Error& error) {
    return state.SkipWithError(error.what());
  }
  if (!(seconds > 0)) return;
  state.SetLabel(concat(name_of(algorithm), ", of ", bound.name));
  state.counters["algbw"] = bytes / seconds;
  state.counters["busbw"] = bus_bytes / seconds;
}
BENCHMARK(BM_all_reduce)
    ->ArgNames({"bytes", "ranks", "spread", "algorithm"})
    ->ArgsProduct({benchmark::CreateRange(4 << 10, 256 << 20, 16), {2, 4, 8}, {0, 1}, {0, 1, 2}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rondo::bench
