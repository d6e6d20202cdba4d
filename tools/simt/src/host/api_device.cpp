// Devices: selection, properties, synchronisation, reset, peers.
#include "../base/device_half.h"
#include "properties.h"
#include "runtime.h"

using namespace simt;

namespace {

cudaError_t version(int* value) {
  return api_without_context([&](Runtime&) {
    require(value, cudaErrorInvalidValue);
    *value = CUDART_VERSION;
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t cudaDriverGetVersion(int* value) { return version(value); }
cudaError_t cudaRuntimeGetVersion(int* value) { return version(value); }

cudaError_t cudaGetDeviceCount(int* count) {
  return api_without_context([&](Runtime& runtime) {
    require(count, cudaErrorInvalidValue);
    refuse_driver(Driver::insufficient, cudaErrorInsufficientDriver);
    *count = static_cast<int>(runtime.devices.size());
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return api_without_context([&](Runtime&) {
    require(device, cudaErrorInvalidValue);
    *device = host_thread().device;
    return cudaSuccess;
  });
}

// A device that has failed becomes current, too; otherwise it could not be reset.
cudaError_t cudaSetDevice(int device) {
  return api_on_any_device([&](Runtime& runtime) {
    runtime.check_ordinal(device);
    host_thread().device = device;
    runtime.bind_context();
    runtime.current_device();
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return api_without_context([&](Runtime& runtime) {
    require(properties, cudaErrorInvalidValue);
    runtime.check_ordinal(device);
    *properties = properties_of(runtime, device);
    return cudaSuccess;
  });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  return api_without_context([&](Runtime& runtime) {
    require(device && wanted, cudaErrorInvalidValue);
    *device = 0;
    for (int i = static_cast<int>(runtime.devices.size()) - 1; i >= 0; --i) {
      const cudaDeviceProp p = properties_of(runtime, i);
      const int version = 10 * p.major + p.minor, least = 10 * wanted->major + wanted->minor;
      if (version >= least && p.totalGlobalMem >= wanted->totalGlobalMem) *device = i;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return api_without_context([&](Runtime& runtime) {
    require(value, cudaErrorInvalidValue);
    runtime.check_ordinal(device);
    *value = attribute_of(properties_of(runtime, device), attribute);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return api([](Runtime& runtime) {
    std::vector<TaskPtr> tasks;
    Clock waited;
    const int device = host_thread().device;
    {
      std::lock_guard lock(runtime.mutex);
      runtime.forbid_synchronizing_while_capturing(device);
      runtime.forbid_during_capture();
      tasks = runtime.pending(runtime.current_device());
      waited = runtime.after(runtime.current_device());
    }
    return wait_for(tasks, device, waited);
  });
}

// Releases everything of the device: memory, streams, events, captures, peer access, loaded kernels, the
// context, and the sticky error.
cudaError_t cudaDeviceReset() {
  return api_on_any_device([](Runtime& runtime) {
    const int ordinal = host_thread().device;
    Device& device = *runtime.devices[static_cast<size_t>(ordinal)];
    std::vector<TaskPtr> tasks;
    Clock waited;
    {
      std::lock_guard lock(runtime.mutex);
      tasks = runtime.pending(device);
      waited = runtime.after(device);
    }
    wait_for(tasks, ordinal, waited);
    std::lock_guard lock(runtime.mutex);
    runtime.streams.remove_if([&](const Stream& stream) { return stream.device == ordinal; });
    runtime.events.remove_if([&](const Event& event) { return event.device == ordinal; });
    runtime.end_captures_of(ordinal);
    for (const auto& stream : device.streams) stream->destroyed = true;
    device.streams.clear();
    device.strays.clear();
    device.legacy->tail.clear();
    device.shared_opt_in.clear();
    device.large_clusters.clear();
    device.loaded.clear();
    device.queues.fill(nullptr);
    device.context = false;
    runtime.execs.for_each([&](GraphExec& exec) {
      if (std::find(exec.devices.begin(), exec.devices.end(), ordinal) != exec.devices.end())
        runtime.give_back_memory(exec);
    });
    forget_variables(ordinal);
    runtime.memory.release_all_of(ordinal);
    runtime.pools.remove_if([&](const MemoryPool& pool) { return pool.device == ordinal; });
    device.pool = device.default_pool = nullptr;
    device.failure = cudaSuccess;
    host_thread().last_error = cudaSuccess;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
  return api_without_context([&](Runtime& runtime) {
    require(can_access, cudaErrorInvalidValue);
    runtime.check_ordinal(device);
    runtime.check_ordinal(peer);
    *can_access = device != peer && runtime.memory.link(device, peer) != PeerAccess::absent;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return api([&](Runtime& runtime) {
    runtime.check_ordinal(peer);
    const int device = host_thread().device;
    require(peer != device, cudaErrorInvalidDevice);
    require(flags == 0, cudaErrorInvalidValue);
    runtime.current_device();
    runtime.make_context(peer);
    std::lock_guard lock(runtime.mutex);
    require(runtime.memory.link(device, peer) != PeerAccess::absent, cudaErrorPeerAccessUnsupported);
    require(!runtime.memory.peer_enabled(device, peer), cudaErrorPeerAccessAlreadyEnabled);
    runtime.memory.enable_peer(device, peer, true);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return api([&](Runtime& runtime) {
    runtime.check_ordinal(peer);
    const int device = host_thread().device;
    runtime.current_device();
    std::lock_guard lock(runtime.mutex);
    require(peer != device && runtime.memory.peer_enabled(device, peer), cudaErrorPeerAccessNotEnabled);
    runtime.memory.enable_peer(device, peer, false);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int source, int destination) {
  return api_without_context([&](Runtime& runtime) {
    require(value, cudaErrorInvalidValue);
    runtime.check_ordinal(source);
    runtime.check_ordinal(destination);
    require(source != destination, cudaErrorInvalidDevice);
    switch (attribute) {
      case cudaDevP2PAttrPerformanceRank:
        *value = 0;
        return cudaSuccess;
      case cudaDevP2PAttrAccessSupported:
      case cudaDevP2PAttrNativeAtomicSupported:
        *value = runtime.memory.link(source, destination) != PeerAccess::absent;
        return cudaSuccess;
      case cudaDevP2PAttrCudaArrayAccessSupported:
        *value = 0;
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}
