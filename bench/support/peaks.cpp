#include <rondo/bench/support/bench.h>
#include <rondo/bench/support/peak_kernels.h>
#include <rondo/bench/support/peaks.h>
#include <rondo/kernels/runtime/platform.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace rondo::bench {
namespace {

constexpr int kRepeats = 7;

// The fastest of several runs after a discarded first one. A peak is the machine's maximum, not its average.
template <class F>
double fastest(cudaStream_t stream, F&& enqueue) {
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run <= kRepeats; ++run) {
    const double seconds = seconds_of(stream, enqueue);
    if (run > 0) best = std::min(best, seconds);
  }
  return best;
}

void measure_copy(Peaks& peaks, const cudaDeviceProp& device, cudaStream_t stream) {
  // Sixteen times the cache, so that almost nothing of a run is still cached in the next one.
  const int64_t bytes = std::clamp<int64_t>(int64_t{16} * device.l2CacheSize, 64 << 20, 1 << 30);
  const int64_t count = bytes / 4 / kStreamMultiple * kStreamMultiple;
  Buffer<float> from = normal_buffer(count, 1);
  Buffer<float> to(count);
  const double by_kernel = fastest(stream, [&](cudaStream_t s) {
    throw_if_error(stream_copy({to.data(), count}, {from.data(), count}, s));
  });
  const double by_memcpy = fastest(stream, [&](cudaStream_t s) {
    RONDO_CUDA_THROW(cudaMemcpyAsync(to.data(), from.data(), static_cast<size_t>(from.bytes()),
                                     cudaMemcpyDeviceToDevice, s));
  });
  peaks.copy_by = by_kernel < by_memcpy ? "copy kernel" : "cudaMemcpyAsync";
  peaks.copy_bytes_per_second = 2.0 * static_cast<double>(from.bytes()) / std::min(by_kernel, by_memcpy);
}

void measure_fma(Peaks& peaks, const cudaDeviceProp& device, cudaStream_t stream) {
  constexpr int kBlocksPerMultiprocessor = 16;
  constexpr int kLength = 2048;
  // An emulated GPU (SIMT_GPU) has more multiprocessors than this machine has cores to run them.
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int busy = std::string(platform()) == "cpu" ? std::min(device.multiProcessorCount, cores)
                                                    : device.multiProcessorCount;
  const int64_t blocks = int64_t{kBlocksPerMultiprocessor} * busy;
  Buffer<float> sums(blocks * kFmaThreads);
  const double seconds = fastest(stream, [&](cudaStream_t s) {
    throw_if_error(fma_chains({sums.data(), sums.size()}, blocks, kLength, s));
  });
  peaks.fma_flops_per_second =
      2.0 * static_cast<double>(sums.size()) * fma_chains_per_thread() * kLength / seconds;
}

Peaks measure(int device) {
  cudaDeviceProp properties;
  RONDO_CUDA_THROW(cudaGetDeviceProperties(&properties, device));
  Stream stream;
  Peaks peaks;
  measure_copy(peaks, properties, stream);
  measure_fma(peaks, properties, stream);
  return peaks;
}

}  // namespace

const Peaks& peaks() {
  static std::mutex mutex;
  static std::map<int, Peaks> of_device;
  int device = 0;
  RONDO_CUDA_THROW(cudaGetDevice(&device));
  std::lock_guard lock(mutex);
  auto found = of_device.find(device);
  if (found == of_device.end()) found = of_device.emplace(device, measure(device)).first;
  return found->second;
}

}  // namespace rondo::bench
