#include <cuda_runtime_api.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/train/step_graph.h>
#include <rondo/tools/rondo/links/copy_kernel.h>
#include <rondo/tools/rondo/links/device_name.h>
#include <rondo/tools/rondo/links/measure_links.h>
#include <rondo/tools/rondo/links/rates.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <limits>
#include <set>

namespace rondo::program {
namespace {

constexpr int kChain = 64;         // copies or kernels in a chain, each after the one before
constexpr int64_t kFewBytes = 16;  // size of the copies that measure latency
constexpr int kHostCalls = 256;

// The best of `repeats` runs, after a first run that touches the memory and loads the kernel.
double best_of(int repeats, const std::function<double()>& measure) {
  static_cast<void>(measure());
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) best = std::min(best, measure());
  return std::max(best, 1e-9);  // not 0, if the clock did not advance
}

// Seconds on the device, measured by two events around the enqueued work.
double seconds_on(cudaStream_t stream, const std::function<void()>& enqueue) {
  const Event begin(Event::Kind::timing), end(Event::Kind::timing);
  RONDO_CUDA_THROW(cudaEventRecord(begin, stream));
  enqueue();
  RONDO_CUDA_THROW(cudaEventRecord(end, stream));
  RONDO_CUDA_THROW(cudaEventSynchronize(end));
  float milliseconds = 0;
  RONDO_CUDA_THROW(cudaEventElapsedTime(&milliseconds, begin, end));
  return milliseconds * 1e-3;
}

Buffer<std::byte> buffer_on(int device, int64_t bytes) {
  const DeviceScope scope(device);
  Buffer<std::byte> buffer(bytes);
  buffer.fill_bytes(1);
  return buffer;
}

int64_t in_packs(int64_t bytes) { return std::max(bytes / kCopyMultiple, int64_t{1}) * kCopyMultiple; }

// Runs a chain as a graph, so that the time excludes the host's calls. If CUDA rejects the copies in a graph,
// the time includes them, and `refusal` gets the reason (StepGraph).
double seconds_of_one_in_chain(int device, int repeats, Status& refusal,
                               const std::function<void(cudaStream_t)>& enqueue) {
  StreamGroup group({device});
  const DeviceScope scope(device);
  enqueue(group.stream(0));  // loads the kernel: an older driver cannot do that during the recording
  StepGraph chain(group, [&] {
    for (int i = 0; i < kChain; ++i) enqueue(group.stream(0));
  });
  const double seconds =
      best_of(repeats, [&] { return seconds_on(group.stream(0), [&] { chain.launch(); }); });
  if (refusal.ok()) refusal = chain.refusal();
  return seconds / kChain;
}

void copy(void* to, int to_device, const void* from, int from_device, int64_t bytes, cudaStream_t stream) {
  RONDO_CUDA_THROW(cudaMemcpyPeerAsync(to, to_device, from, from_device, static_cast<size_t>(bytes), stream));
}

Link measure_link(int from, int to, const LinkEffort& effort, Status& refusal) {
  const int64_t bytes = in_packs(effort.copy_bytes);
  Link link{.access = connect(from, to)};
  const Buffer<std::byte> source = buffer_on(from, bytes);
  Buffer<std::byte> target = buffer_on(to, bytes);
  const DeviceScope scope(from);
  const Stream stream;
  const auto rate_of = [&](const std::function<void()>& enqueue) {
    return copy_bandwidth(bytes, best_of(effort.repeats, [&] { return seconds_on(stream, enqueue); }));
  };
  link.bandwidth = rate_of([&] { copy(target.data(), to, source.data(), from, bytes, stream); });
  link.latency = seconds_of_one_in_chain(from, effort.repeats, refusal, [&](cudaStream_t s) {
    RONDO_CUDA_THROW(cudaMemcpyAsync(target.data(), source.data(), kFewBytes, cudaMemcpyDefault, s));
  });
  link.kernel_bandwidth = link.bandwidth;  // without peer access, copies move all data
  if (link.access == PeerAccess::direct || link.access == PeerAccess::same_device) {
    Buffer<std::byte> own = buffer_on(from, bytes);
    link.kernel_bandwidth =
        rate_of([&] { throw_if_error(copy_by_kernel(own.data(), target.data(), bytes, stream)); });
  }
  return link;
}

double measure_memory(int device, const LinkEffort& effort) {
  const int64_t bytes = in_packs(effort.memory_bytes / 2);
  const Buffer<std::byte> from = buffer_on(device, bytes);
  Buffer<std::byte> to = buffer_on(device, bytes);
  const DeviceScope scope(device);
  const Stream stream;
  const double by_kernel = best_of(effort.repeats, [&] {
    return seconds_on(stream, [&] { throw_if_error(copy_by_kernel(to.data(), from.data(), bytes, stream)); });
  });
  const double by_copy = best_of(effort.repeats, [&] {
    return seconds_on(stream, [&] { copy(to.data(), device, from.data(), device, bytes, stream); });
  });
  return memory_bandwidth(bytes, by_kernel, by_copy);
}

double kernel_latency(int device, int repeats) {
  const Buffer<std::byte> from = buffer_on(device, kCopyMultiple);
  Buffer<std::byte> to = buffer_on(device, kCopyMultiple);
  Status refusal;
  const double seconds = seconds_of_one_in_chain(device, repeats, refusal, [&](cudaStream_t stream) {
    throw_if_error(copy_by_kernel(to.data(), from.data(), kCopyMultiple, stream));
  });
  throw_if_error(refusal);  // only copies between devices may be rejected
  return seconds;
}

// The host's time for a copy, an event after it, and another stream's wait for the event: the calls of the
// algorithms.
double host_seconds_per_call(int device, int repeats) {
  const Buffer<std::byte> from = buffer_on(device, kFewBytes);
  Buffer<std::byte> to = buffer_on(device, kFewBytes);
  const DeviceScope scope(device);
  const Stream stream, other;
  const Event done;
  return best_of(repeats,
                 [&] {
                   const auto begin = std::chrono::steady_clock::now();
                   for (int i = 0; i < kHostCalls; ++i) {
                     copy(to.data(), device, from.data(), device, kFewBytes, stream);
                     RONDO_CUDA_THROW(cudaEventRecord(done, stream));
                     RONDO_CUDA_THROW(cudaStreamWaitEvent(other, done, 0));
                   }
                   const std::chrono::duration<double> asked = std::chrono::steady_clock::now() - begin;
                   stream.synchronize();
                   return asked.count();
                 }) /
         kHostCalls;
}

std::string now() {
  const std::time_t time = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&time));
  return text;
}

}  // namespace

std::string device_name(int device) {
  cudaDeviceProp properties{};
  RONDO_CUDA_THROW(cudaGetDeviceProperties(&properties, device));
  return properties.name;
}

LinkTable measure_links(const std::vector<int>& devices, const LinkEffort& effort) {
  const std::set<int> different(devices.begin(), devices.end());
  LinkTable table{.platform = platform(), .date = now()};
  table.host_seconds_per_call = host_seconds_per_call(*different.begin(), effort.repeats);
  for (const int device : different)
    table.devices.push_back({device, device_name(device), measure_memory(device, effort),
                             kernel_latency(device, effort.repeats)});
  Status refusal;
  for (const int from : different) {
    for (const int to : different) table.links.push_back(measure_link(from, to, effort, refusal));
  }
  table.graph_refusal = refusal.message();
  return table;
}

LinkConstants measure_constants(const std::vector<int>& devices, const std::vector<int>& order) {
  const LinkEffort effort{.copy_bytes = 8 << 20, .memory_bytes = 128 << 20, .repeats = 3};
  const int first = devices.front();
  LinkConstants constants;
  constants.ranks_share_one_memory = share_one_memory(platform(), devices);
  constants.host_seconds_per_call = host_seconds_per_call(first, effort.repeats);
  constants.kernel_latency = kernel_latency(first, effort.repeats);
  constants.memory_bandwidth = measure_memory(first, effort);
  constants.copy_latency = 0;
  constants.wire_bandwidth = constants.peer_bandwidth = std::numeric_limits<double>::max();
  std::set<std::pair<int, int>> pairs;
  Status refusal;  // not shown: the constants only choose an algorithm
  for (size_t i = 0; i < order.size(); ++i)
    pairs.emplace(devices[static_cast<size_t>(order[i])],
                  devices[static_cast<size_t>(order[(i + 1) % order.size()])]);
  for (const auto& [from, to] : pairs) {
    const Link link = measure_link(from, to, effort, refusal);
    constants.copy_latency = std::max(constants.copy_latency, link.latency);
    constants.wire_bandwidth = std::min(constants.wire_bandwidth, link.bandwidth);
    constants.peer_bandwidth = std::min(constants.peer_bandwidth, link.kernel_bandwidth);
  }
  return constants;
}

}  // namespace rondo::program
