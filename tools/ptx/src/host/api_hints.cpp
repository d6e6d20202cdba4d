// Functions that concern the time or the surroundings of a program only. They check their arguments.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cstdio>
#include <mutex>

#include "device_memory.h"
#include "runtime.h"

using namespace simt;

namespace {

// The limits that a program has set, which nothing here needs.
std::mutex limits_mutex;
std::array<size_t, cudaLimitPersistingL2CacheSize + 1> limits_set = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

cudaError_t known_device(int device) {
  return api([&](Runtime& runtime) {
    runtime.check_ordinal(device);
    return cudaSuccess;
  });
}

// Advice about managed memory.
cudaError_t advise(const void* pointer, size_t bytes) {
  return api([&](Runtime& runtime) {
    const auto range = runtime.memory.find(pointer);
    const auto begin = reinterpret_cast<uintptr_t>(pointer);
    require(range && range->managed && begin + bytes <= range->begin + range->bytes, cudaErrorInvalidValue);
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation, unsigned int,
                                 cudaStream_t) {
  return advise(pointer, bytes);
}
cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
  return advise(pointer, bytes);
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return api([&](Runtime&) {
    require(static_cast<size_t>(limit) < limits_set.size(), cudaErrorUnsupportedLimit);
    const std::lock_guard lock(limits_mutex);
    limits_set[static_cast<size_t>(limit)] = value;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return api([&](Runtime&) {
    require(value, cudaErrorInvalidValue);
    require(static_cast<size_t>(limit) < limits_set.size(), cudaErrorUnsupportedLimit);
    const std::lock_guard lock(limits_mutex);
    *value = limits_set[static_cast<size_t>(limit)];
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return api([](Runtime&) { return cudaSuccess; });
}
cudaError_t cudaCtxResetPersistingL2Cache() {
  return api([](Runtime&) { return cudaSuccess; });
}
cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return api_without_context([&](Runtime&) {
    require((flags & ~cudaDeviceMask) == 0, cudaErrorInvalidValue);
    return cudaSuccess;
  });
}
cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) { return known_device(device); }

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return api_without_context([&](Runtime& runtime) {
    require(text && length >= 13, cudaErrorInvalidValue);
    runtime.check_ordinal(device);
    std::snprintf(text, static_cast<size_t>(length), "0000:00:%02x.0", static_cast<unsigned>(device));
    return cudaSuccess;
  });
}

size_t ptx::malloc_heap_bytes() {
  const std::lock_guard lock(limits_mutex);
  return limits_set[cudaLimitMallocHeapSize];
}

cudaError_t cudaProfilerStart() {
  return api([](Runtime&) { return cudaSuccess; });
}
cudaError_t cudaProfilerStop() {
  return api([](Runtime&) { return cudaSuccess; });
}
