// Streams and host functions.
#include <algorithm>

#include "operations.h"
#include "runtime.h"

namespace simt {

std::shared_ptr<Operation> host_operation(const cudaHostNodeParams& call) {
  require(call.fn, cudaErrorInvalidValue);
  auto operation = std::make_shared<Operation>();
  operation->host_function = call;
  operation->run = [call](uint64_t) {
    host_thread().in_host_function = true;
    call.fn(call.userData);
    host_thread().in_host_function = false;
    return Fault{};
  };
  return operation;
}

}  // namespace simt

using namespace simt;

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned int flags,
                                         int /*clamped to the only one*/) {
  return api([&](Runtime& runtime) {
    require(handle && (flags & ~unsigned{cudaStreamNonBlocking}) == 0, cudaErrorInvalidValue);
    runtime.current_device();
    std::lock_guard lock(runtime.mutex);
    runtime.streams.add(runtime.make_stream(host_thread().device, (flags & cudaStreamNonBlocking) == 0),
                        handle);
    return cudaSuccess;
  });
}

// Pending work continues; only the handle becomes invalid at once.
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    runtime.destroy(runtime.streams.take(handle));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return api([&](Runtime& runtime) {
    std::vector<TaskPtr> tasks;
    Clock waited;
    int device = 0;
    {
      std::lock_guard lock(runtime.mutex);
      const auto stream = runtime.stream(handle);
      runtime.forbid_use_while_capturing(*stream);
      device = stream->device;
      tasks = runtime.predecessors(*stream);
      waited = runtime.before(*stream);
    }
    return wait_for(tasks, device, waited);
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return api([&](Runtime& runtime) {
    runtime.scheduler.poll();
    std::lock_guard lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    runtime.forbid_use_while_capturing(*stream);
    if (!runtime.predecessors(*stream).empty()) return cudaErrorNotReady;
    runtime.order.host_waited(runtime.before(*stream));
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return api([&](Runtime& runtime) {
    require(device, cudaErrorInvalidValue);
    refuse_driver(Driver::older, cudaErrorCallRequiresNewerDriver);
    std::lock_guard lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    runtime.forbid_query_while_capturing(*stream);
    *device = stream->device;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  return api([&](Runtime& runtime) {
    require(flags, cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    runtime.forbid_query_while_capturing(*stream);
    *flags = stream->blocking ? cudaStreamDefault : cudaStreamNonBlocking;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return api([&](Runtime& runtime) {
    require(priority, cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    runtime.stream(handle);
    *priority = 0;
    return cudaSuccess;
  });
}

// Returns a single priority, as a device without priorities does. Other values are clamped, as in CUDA.
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api([&](Runtime&) {
    if (least) *least = 0;
    if (greatest) *greatest = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* user_data) {
  return api([&](Runtime& runtime) {
    return runtime.submit(handle, host_operation({function, user_data}), "a host function");
  });
}

// Not in a capture, as in CUDA. The status is that of the stream: a function of a device that has failed does
// not run.
cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t callback, void* user_data,
                                  unsigned int flags) {
  return api([&](Runtime& runtime) {
    require(callback && flags == 0, cudaErrorInvalidValue);
    {
      std::lock_guard lock(runtime.mutex);
      const auto stream = runtime.stream(handle);
      if (stream->capture) {
        stream->capture->invalidated = true;
        return cudaErrorStreamCaptureUnsupported;
      }
    }
    const auto operation = host_operation({[](void*) {}, user_data});
    operation->run = [=](uint64_t) {
      host_thread().in_host_function = true;
      callback(handle, cudaSuccess, user_data);
      host_thread().in_host_function = false;
      return Fault{};
    };
    return runtime.submit(handle, operation, "a callback");
  });
}
