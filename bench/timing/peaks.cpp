#include <rondo/bench/timing/device_time.h>
#include <rondo/bench/timing/normal_buffer.h>
#include <rondo/bench/timing/peak_kernels.h>
#include <rondo/bench/timing/peaks.h>
#include <rondo/bench/timing/tensor_peak_kernels.h>
#include <rondo/kernels/runtime/platform.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

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

double measure_tensor_cores(Arithmetic arithmetic, const cudaDeviceProp& device, cudaStream_t stream) {
  constexpr int kBlocksPerMultiprocessor = 4;
  constexpr int kLength = 2048;
  const int64_t blocks = int64_t{kBlocksPerMultiprocessor} * device.multiProcessorCount;
  Buffer<float> sums(blocks * kTensorThreads);
  Buffer<unsigned char> operands(kTensorOperandBytes);
  visit(factor_type(arithmetic), [&](auto element) {
    using T = decltype(element);
    if constexpr (ValueType<T>)
      fill_normal_values(reinterpret_cast<T*>(operands.data()), operands.size() / int64_t{sizeof(T)}, 1);
  });
  const VectorView<float> to = {sums.data(), sums.size()};
  const double by_mma = fastest(stream, [&](cudaStream_t s) {
    throw_if_error(mma_chains(to, operands.data(), arithmetic, blocks, kLength, s));
  });
  const double work = static_cast<double>(blocks) * kLength;
  double best = work * mma_chains_flops(arithmetic) / by_mma;
  if (!check_wgmma("").ok()) return best;
  const double by_wgmma = fastest(stream, [&](cudaStream_t s) {
    throw_if_error(wgmma_chains(to, operands.data(), arithmetic, blocks, kLength, s));
  });
  return std::max(best, work * wgmma_chains_flops(arithmetic) / by_wgmma);
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

int current_device() {
  int device = 0;
  RONDO_CUDA_THROW(cudaGetDevice(&device));
  return device;
}

}  // namespace

double tensor_flops_per_second(Arithmetic arithmetic) {
  if (arithmetic == Arithmetic::fp32 || std::string(platform()) == "cpu") return 0;
  if (arithmetic == Arithmetic::tf32x3) return tensor_flops_per_second(Arithmetic::tf32) / 3;
  if (!check_factor_type("", factor_type(arithmetic)).ok() || !check_math("", math_of(arithmetic)).ok())
    return 0;
  static std::mutex mutex;
  static std::map<std::pair<int, Arithmetic>, double> measured;
  const int device = current_device();
  std::lock_guard lock(mutex);
  const auto [found, is_new] = measured.try_emplace({device, arithmetic}, 0);
  if (is_new) {
    cudaDeviceProp properties;
    RONDO_CUDA_THROW(cudaGetDeviceProperties(&properties, device));
    Stream stream;
    found->second = measure_tensor_cores(arithmetic, properties, stream);
  }
  return found->second;
}

const Peaks& peaks() {
  static std::mutex mutex;
  static std::map<int, Peaks> of_device;
  const int device = current_device();
  std::lock_guard lock(mutex);
  auto found = of_device.find(device);
  if (found == of_device.end()) found = of_device.emplace(device, measure(device)).first;
  return found->second;
}

}  // namespace rondo::bench
