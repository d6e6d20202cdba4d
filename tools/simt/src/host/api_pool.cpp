// Stream-ordered allocation (cudaMallocAsync(), cudaFreeAsync()), and the memory pools that it takes from.
#include <memory>

#include "runtime.h"

using namespace simt;

namespace {

std::shared_ptr<MemoryPool> make_pool(Runtime& runtime, int device, size_t most) {
  const auto pool = std::make_shared<MemoryPool>();
  pool->device = device;
  pool->most = most == 0 ? SIZE_MAX : most;
  pool->access.resize(runtime.devices.size());
  runtime.pools.add(pool, &pool->handle);
  return pool;
}

// The pool that a device begins with. Made at the first use, for the handle.
const std::shared_ptr<MemoryPool>& default_pool(Runtime& runtime, int device) {
  Device& of = *runtime.devices[static_cast<size_t>(device)];
  if (!of.default_pool) of.pool = of.default_pool = make_pool(runtime, device, 0);
  return of.default_pool;
}
const std::shared_ptr<MemoryPool>& current_pool(Runtime& runtime, int device) {
  default_pool(runtime, device);
  return runtime.devices[static_cast<size_t>(device)]->pool;
}

cudaError_t allocate(void** pointer, size_t bytes, cudaStream_t handle, const cudaMemPool_t* from) {
  return api([&](Runtime& runtime) {
    require(pointer, cudaErrorInvalidValue);
    std::shared_ptr<MemoryPool> pool;
    {
      std::lock_guard lock(runtime.mutex);
      const auto stream = runtime.stream(handle);
      require(!stream->capture, cudaErrorStreamCaptureUnsupported);
      pool = from ? runtime.pools.get(*from) : current_pool(runtime, stream->device);
    }
    return runtime.memory.allocate(pool->device, bytes, pointer, false, pool);
  });
}

// Sets `handle` to that of pool_of(runtime, device).
cudaError_t give_handle(cudaMemPool_t* handle, int device,
                        const std::shared_ptr<MemoryPool>& (*pool_of)(Runtime&, int)) {
  return api([&](Runtime& runtime) {
    require(handle, cudaErrorInvalidValue);
    runtime.check_ordinal(device);
    std::lock_guard lock(runtime.mutex);
    *handle = static_cast<cudaMemPool_t>(pool_of(runtime, device)->handle);
    return cudaSuccess;
  });
}

size_t* counter(MemoryPool& pool, cudaMemPoolAttr attribute) {
  switch (attribute) {
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrUsedMemCurrent:
      return &pool.used;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
      return &pool.high;
    default:
      return nullptr;
  }
}

int* reuse(MemoryPool& pool, cudaMemPoolAttr attribute) {
  const int index = static_cast<int>(attribute) - static_cast<int>(cudaMemPoolReuseFollowEventDependencies);
  return index >= 0 && index < 3 ? &pool.reuse[index] : nullptr;
}

}  // namespace

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return allocate(pointer, bytes, stream, nullptr);
}
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return allocate(pointer, bytes, stream, &pool);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  return api([&](Runtime& runtime) {
    if (!pointer) return cudaSuccess;
    const auto range = runtime.memory.find(pointer);
    const bool ours = range && range->begin == reinterpret_cast<uintptr_t>(pointer);
    require(ours && range->device != Memory::kHost, cudaErrorInvalidValue);
    std::unique_lock lock(runtime.mutex);
    const auto stream = runtime.stream_with_room(lock, handle, "cudaFreeAsync");
    require(!stream->capture, cudaErrorStreamCaptureUnsupported);
    auto operation = std::make_shared<Operation>();
    operation->device = stream->device;
    operation->transfer = {"cudaFreeAsync", pointer, nullptr, range->bytes, 0, range->bytes, 1};
    operation->transfer->frees = true;
    operation->run = [&runtime, pointer](uint64_t) {
      const cudaError_t error = runtime.memory.release(pointer, false);
      return error == cudaSuccess ? Fault{}
                                  : Fault{cudaErrorIllegalAddress, "cudaFreeAsync: memory was freed twice"};
    };
    runtime.enqueue(stream, std::move(operation));
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return give_handle(pool, device, default_pool);
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return give_handle(pool, device, current_pool);
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t handle) {
  return api([&](Runtime& runtime) {
    runtime.check_ordinal(device);
    std::lock_guard lock(runtime.mutex);
    const auto pool = runtime.pools.get(handle);
    require(pool->device == device, cudaErrorInvalidValue);
    default_pool(runtime, device);
    runtime.devices[static_cast<size_t>(device)]->pool = pool;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return api([&](Runtime& runtime) {
    require(pool && properties && properties->allocType == cudaMemAllocationTypePinned,
            cudaErrorInvalidValue);
    require(properties->location.type == cudaMemLocationTypeDevice &&
                properties->handleTypes == cudaMemHandleTypeNone,
            cudaErrorNotSupported);
    runtime.check_ordinal(properties->location.id);
    std::lock_guard lock(runtime.mutex);
    *pool =
        static_cast<cudaMemPool_t>(make_pool(runtime, properties->location.id, properties->maxSize)->handle);
    return cudaSuccess;
  });
}

// Its allocations stay valid, as in CUDA. A device that took from it takes from its default pool.
cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    const auto pool = runtime.pools.get(handle);
    Device& device = *runtime.devices[static_cast<size_t>(pool->device)];
    require(pool != device.default_pool, cudaErrorInvalidValue);
    if (device.pool == pool) device.pool = device.default_pool;
    runtime.pools.take(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return api([&](Runtime& runtime) {
    require(value, cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    runtime.memory.change(*runtime.pools.get(handle), [&](MemoryPool& pool) {
      if (int* const flag = reuse(pool, attribute)) {
        *flag = *static_cast<const int*>(value) != 0;
      } else if (attribute == cudaMemPoolAttrReleaseThreshold) {
        pool.release_threshold = *static_cast<const uint64_t*>(value);
      } else {
        // Only the high watermarks can be set, and only to 0, from where they rise again.
        require(attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh,
                cudaErrorInvalidValue);
        require(*static_cast<const uint64_t*>(value) == 0, cudaErrorInvalidValue);
        pool.high = pool.used;
      }
    });
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return api([&](Runtime& runtime) {
    require(value, cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    runtime.memory.change(*runtime.pools.get(handle), [&](MemoryPool& pool) {
      if (const int* const flag = reuse(pool, attribute)) {
        *static_cast<int*>(value) = *flag;
      } else if (attribute == cudaMemPoolAttrReleaseThreshold) {
        *static_cast<uint64_t*>(value) = pool.release_threshold;
      } else {
        const size_t* const bytes = counter(pool, attribute);
        require(bytes, cudaErrorInvalidValue);
        *static_cast<uint64_t*>(value) = *bytes;
      }
    });
    return cudaSuccess;
  });
}

// A pool keeps no free memory.
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, size_t) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    runtime.pools.get(handle);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc* accesses, size_t count) {
  return api([&](Runtime& runtime) {
    require(accesses || count == 0, cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    const auto pool = runtime.pools.get(handle);
    for (size_t i = 0; i < count; ++i) {
      const cudaMemAccessDesc& wanted = accesses[i];
      require(wanted.location.type == cudaMemLocationTypeDevice, cudaErrorInvalidValue);
      runtime.check_ordinal(wanted.location.id);
      const bool none = wanted.flags == cudaMemAccessFlagsProtNone;
      require(none || wanted.flags == cudaMemAccessFlagsProtReadWrite, cudaErrorInvalidValue);
      require(!none || wanted.location.id != pool->device, cudaErrorInvalidValue);
      require(none || wanted.location.id == pool->device ||
                  runtime.memory.link(wanted.location.id, pool->device) != PeerAccess::absent,
              cudaErrorInvalidDevice);
    }
    runtime.memory.change(*pool, [&](MemoryPool& of) {
      for (size_t i = 0; i < count; ++i)
        of.access[static_cast<size_t>(accesses[i].location.id)] =
            accesses[i].flags == cudaMemAccessFlagsProtReadWrite;
    });
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle, cudaMemLocation* location) {
  return api([&](Runtime& runtime) {
    require(flags && location && location->type == cudaMemLocationTypeDevice, cudaErrorInvalidValue);
    runtime.check_ordinal(location->id);
    std::lock_guard lock(runtime.mutex);
    const auto pool = runtime.pools.get(handle);
    bool access = location->id == pool->device;
    runtime.memory.change(
        *pool, [&](MemoryPool& of) { access = access || of.access[static_cast<size_t>(location->id)]; });
    *flags = access ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
    return cudaSuccess;
  });
}
