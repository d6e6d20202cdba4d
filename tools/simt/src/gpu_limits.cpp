#include "gpu_limits.h"

#include <simt/settings.h>

namespace simt {
namespace {

// By compute capability: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
// Multiprocessors: the vendor's white papers of the Turing, Ampere, Ada, Hopper (SXM5) and Blackwell
// architectures. The same on all of them: 1024 threads per block, 48 KB of shared memory without opting in,
// and 65536 registers per block and per multiprocessor.
constexpr GpuLimits kGpus[] = {
    {"t4", "a T4", 7, 5, 40, 64, 64, 0, 1024, 16},
    {"a100", "an A100", 8, 0, 108, 163, 164, 1, 2048, 32},
    {"rtx4090", "an RTX 4090", 8, 9, 128, 99, 100, 1, 1536, 24},
    {"h100", "an H100", 9, 0, 132, 227, 228, 1, 2048, 32},
    {"b200", "a B200", 10, 0, 148, 227, 228, 1, 2048, 32},
};

}  // namespace

const GpuLimits* find_gpu(std::string_view name) {
  for (const GpuLimits& gpu : kGpus)
    if (gpu.name == name) return &gpu;
  return nullptr;
}

std::string known_gpus() {
  std::string names;
  for (const GpuLimits& gpu : kGpus) names += (names.empty() ? "" : ", ") + std::string(gpu.name);
  return names;
}

const GpuLimits& limits() {
  // The shared memory of an h100: tiles of vector registers, which a GPU does not have, need more than the
  // smallest GPUs have. One multiprocessor per worker thread.
  static constexpr GpuLimits kExecutor = {"", "", 9, 0, 0, 227, 228, 1, 2048, 32};
  const GpuLimits* gpu = find_gpu(settings().gpu);
  return gpu ? *gpu : kExecutor;
}

}  // namespace simt
