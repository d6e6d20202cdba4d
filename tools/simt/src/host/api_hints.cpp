// Functions that concern the time or the surroundings of a program only. They check their arguments.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "../base/device_half.h"
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

cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void* pointer, size_t bytes, unsigned int flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
    return cudaErrorInvalidValue;
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

// GPUs without a configurable cache or banks ignore the setting. The getters return what they have.
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return api([](Runtime&) { return cudaSuccess; });
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return api([&](Runtime&) {
    require(config, cudaErrorInvalidValue);
    *config = cudaFuncCachePreferNone;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return api([](Runtime&) { return cudaSuccess; });
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return api([&](Runtime&) {
    require(config, cudaErrorInvalidValue);
    *config = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
  });
}
cudaError_t cudaFuncSetCacheConfig(const void* kernel, cudaFuncCache) {
  return api([&](Runtime&) {
    require(kernel, cudaErrorInvalidDeviceFunction);
    static_cast<void>(facts_of(kernel, host_thread().device));
    return cudaSuccess;
  });
}
cudaError_t cudaCtxResetPersistingL2Cache() {
  return api([](Runtime&) { return cudaSuccess; });
}
cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return api_without_context([&](Runtime& runtime) {
    require((flags & ~cudaDeviceMask) == 0, cudaErrorInvalidValue);
    runtime.current_device().flags = flags;
    return cudaSuccess;
  });
}
// Host memory is always mapped.
cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return api_without_context([&](Runtime& runtime) {
    require(flags, cudaErrorInvalidValue);
    *flags = runtime.current_device().flags | cudaDeviceMapHost;
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

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return api_without_context([&](Runtime& runtime) {
    require(device && text, cudaErrorInvalidValue);
    // "domain:bus:device.function", hexadecimal
    std::array<unsigned, 4> numbers = {};
    const char* const end = text + std::strlen(text);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (i > 0) require(text != end && *text++ == (i == 3 ? '.' : ':'), cudaErrorInvalidValue);
      const auto [stop, problem] = std::from_chars(text, end, numbers[i], 16);
      require(problem == std::errc{}, cudaErrorInvalidValue);
      text = stop;
    }
    require(text == end, cudaErrorInvalidValue);
    const auto [domain, bus, number, function] = numbers;
    require(domain == 0 && bus == 0 && function == 0, cudaErrorInvalidDevice);
    runtime.check_ordinal(static_cast<int>(number));
    *device = static_cast<int>(number);
    return cudaSuccess;
  });
}

size_t simt::limit_set(cudaLimit limit) {
  const std::lock_guard lock(limits_mutex);
  return limits_set[static_cast<size_t>(limit)];
}

cudaError_t cudaProfilerStart() {
  return api([](Runtime&) { return cudaSuccess; });
}
cudaError_t cudaProfilerStop() {
  return api([](Runtime&) { return cudaSuccess; });
}
