// Attributes of streams.
#include "properties.h"
#include "runtime.h"

namespace simt {

void check_access_policy_window(const Runtime& runtime, const cudaAccessPolicyWindow& window) {
  const cudaDeviceProp p = properties_of(runtime, host_thread().device);
  require(window.num_bytes <= static_cast<size_t>(p.accessPolicyMaxWindowSize), cudaErrorInvalidValue);
  require(window.hitRatio >= 0 && window.hitRatio <= 1, cudaErrorInvalidValue);
  require(window.hitProp >= cudaAccessPropertyNormal && window.hitProp <= cudaAccessPropertyPersisting,
          cudaErrorInvalidValue);
  require(window.missProp == cudaAccessPropertyNormal || window.missProp == cudaAccessPropertyStreaming,
          cudaErrorInvalidValue);
}

}  // namespace simt

using namespace simt;

cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                   const cudaStreamAttrValue* value) {
  return api([&](Runtime& runtime) {
    require(value, cudaErrorInvalidValue);
    const std::lock_guard lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    switch (attribute) {
      case cudaStreamAttributeAccessPolicyWindow:
        check_access_policy_window(runtime, value->accessPolicyWindow);
        stream->access_policy_window = value->accessPolicyWindow;
        return cudaSuccess;
      case cudaStreamAttributeSynchronizationPolicy:
        require(value->syncPolicy >= cudaSyncPolicyAuto && value->syncPolicy <= cudaSyncPolicyBlockingSync,
                cudaErrorInvalidValue);
        stream->synchronization_policy = value->syncPolicy;
        return cudaSuccess;
      case cudaStreamAttributePriority:  // clamped to the only one
        return cudaSuccess;
      default:
        return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaStreamAttrID attribute,
                                   cudaStreamAttrValue* value) {
  return api([&](Runtime& runtime) {
    require(value, cudaErrorInvalidValue);
    const std::lock_guard lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    switch (attribute) {
      case cudaStreamAttributeAccessPolicyWindow:
        value->accessPolicyWindow = stream->access_policy_window;
        return cudaSuccess;
      case cudaStreamAttributeSynchronizationPolicy:
        value->syncPolicy = stream->synchronization_policy;
        return cudaSuccess;
      case cudaStreamAttributePriority:
        value->priority = 0;
        return cudaSuccess;
      default:
        return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return api([&](Runtime& runtime) {
    const std::lock_guard lock(runtime.mutex);
    const auto source = runtime.stream(from), destination = runtime.stream(to);
    require(source->device == destination->device, cudaErrorInvalidValue);
    destination->access_policy_window = source->access_policy_window;
    destination->synchronization_policy = source->synchronization_policy;
    return cudaSuccess;
  });
}
