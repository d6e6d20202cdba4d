// Allocation.
#include <simt/kernel_memory.h>

#include <memory>
#include <string>

#include "../base/text.h"
#include "runtime.h"

using namespace simt;

namespace {

// Frees the memory, after all pending work of the owning device is done if settings().free_waits is set.
cudaError_t free_memory(void* pointer, bool host) {
  return api([&](Runtime& runtime) {
    if (!pointer) return cudaSuccess;
    const auto range = runtime.memory.find(pointer);
    const bool ours = range && range->begin == reinterpret_cast<uintptr_t>(pointer);
    require(ours && (range->device == Memory::kHost) == host && !range->registered, cudaErrorInvalidValue);
    std::vector<TaskPtr> tasks;
    std::chrono::milliseconds patience;
    {
      std::lock_guard lock(runtime.mutex);
      patience = simt::settings().patience;
      runtime.forbid_during_capture();
      for (size_t i = 0; i < runtime.devices.size(); ++i) {
        if (!host && static_cast<int>(i) != range->device) continue;
        const cudaError_t failure = runtime.devices[i]->failure;
        require(host || failure == cudaSuccess, failure);
        if (!simt::settings().free_waits) continue;
        for (TaskPtr& task : runtime.pending(*runtime.devices[i])) tasks.push_back(std::move(task));
      }
    }
    LongWait notice(patience, [host, device = range->device] {
      return host ? std::string("cudaFreeHost waits until all devices are idle")
                  : "cudaFree waits until device " + std::to_string(device) + " is idle";
    });
    const cudaError_t failure = wait_for(tasks, host ? host_thread().device : range->device, &notice);
    const cudaError_t released = runtime.memory.release(pointer, host);
    return failure != cudaSuccess ? failure : released;
  });
}

// Checks that memory may be allocated now, and waits if settings().allocation_waits is set.
void wait_before_allocation(Runtime& runtime, bool host) {
  const int device = host_thread().device;
  std::vector<TaskPtr> tasks;
  std::chrono::milliseconds patience;
  {
    std::lock_guard lock(runtime.mutex);
    patience = simt::settings().patience;
    runtime.forbid_during_capture();
    runtime.current_device();
    if (!simt::settings().allocation_waits) return;
    for (size_t i = 0; i < runtime.devices.size(); ++i)
      if (host || static_cast<int>(i) == device)
        for (TaskPtr& task : runtime.pending(*runtime.devices[i])) tasks.push_back(std::move(task));
  }
  LongWait notice(patience, [=] {
    return host ? std::string("cudaHostAlloc waits until all devices are idle (SIMT_ALLOCATION_WAITS)")
                : "cudaMalloc waits until device " + std::to_string(device) +
                      " is idle (SIMT_ALLOCATION_WAITS)";
  });
  const cudaError_t failure = wait_for(tasks, device, &notice);
  require(failure == cudaSuccess, failure);
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return api([&](Runtime& runtime) {
    require(pointer, cudaErrorInvalidValue);
    wait_before_allocation(runtime, false);
    return runtime.memory.allocate(host_thread().device, bytes, pointer);
  });
}

cudaError_t cudaFree(void* pointer) { return free_memory(pointer, false); }

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  return api([&](Runtime& runtime) {
    constexpr unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    require(pointer && (flags & ~known) == 0, cudaErrorInvalidValue);
    wait_before_allocation(runtime, true);
    return runtime.memory.allocate(Memory::kHost, bytes, pointer);
  });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* pointer) { return free_memory(pointer, true); }

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  return api([&](Runtime& runtime) {
    constexpr unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory |
                               cudaHostRegisterReadOnly;
    require(pointer && bytes > 0 && (flags & ~known) == 0, cudaErrorInvalidValue);
    require((flags & cudaHostRegisterIoMemory) == 0, cudaErrorNotSupported);
    {
      std::lock_guard lock(runtime.mutex);
      runtime.forbid_during_capture();
    }
    return runtime.memory.pin(pointer, bytes);
  });
}

// Waits, as cudaFreeHost() does: pending copies may use the memory.
cudaError_t cudaHostUnregister(void* pointer) {
  return api([&](Runtime& runtime) {
    require(pointer, cudaErrorInvalidValue);
    std::vector<TaskPtr> tasks;
    {
      std::lock_guard lock(runtime.mutex);
      runtime.forbid_during_capture();
      for (const auto& device : runtime.devices)
        for (TaskPtr& task : runtime.pending(*device)) tasks.push_back(std::move(task));
    }
    const cudaError_t failure = wait_for(tasks, host_thread().device);
    const cudaError_t unpinned = runtime.memory.unpin(pointer);
    return failure != cudaSuccess ? failure : unpinned;
  });
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned int flags) {
  return api([&](Runtime& runtime) {
    require(device_pointer && flags == 0, cudaErrorInvalidValue);
    const auto range = runtime.memory.find(host_pointer);
    require(range && range->device == Memory::kHost, cudaErrorInvalidValue);
    *device_pointer = host_pointer;
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return api([&](Runtime& runtime) {
    require(free && total, cudaErrorInvalidValue);
    runtime.current_device();
    *total = runtime.memory.limit(host_thread().device);
    *free = *total - std::min(*total, runtime.memory.used(host_thread().device));
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return api([&](Runtime& runtime) {
    require(attributes, cudaErrorInvalidValue);
    *attributes = {};
    auto range = runtime.memory.find(pointer);
    const auto address = reinterpret_cast<uintptr_t>(pointer);
    if (range && address == range->begin + range->bytes) range.reset();  // the end is not inside
    void* const same = const_cast<void*>(pointer);
    if (!range) {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = -2;
      attributes->hostPointer = same;
    } else if (range->device == Memory::kHost) {
      attributes->type = cudaMemoryTypeHost;
      attributes->device = host_thread().device;
      attributes->devicePointer = same;
      attributes->hostPointer = same;
    } else {
      attributes->type = range->managed ? cudaMemoryTypeManaged : cudaMemoryTypeDevice;
      attributes->device = range->device;
      attributes->devicePointer = same;
      attributes->hostPointer = range->managed ? same : nullptr;
    }
    return cudaSuccess;
  });
}

std::string simt::refusal_of(const void* data, size_t bytes) try {
  Runtime& runtime = Runtime::get();
  auto range = runtime.memory.find(data);
  if (!range) {
    know_variables(runtime, host_thread().device);
    range = runtime.memory.find(data);
  }
  if (!range) return joined("which is ", Memory::kUnknown);
  const size_t left = range->begin + range->bytes - reinterpret_cast<uintptr_t>(data);
  if (bytes <= left || range->registered) return "";  // the neighbour may be registered, too
  return joined("which is ", counted(left, "byte"), " before the end of its allocation, must be at least ",
                bytes);
} catch (const Failure&) {  // there is no device, which the launch reports
  return "";
}
