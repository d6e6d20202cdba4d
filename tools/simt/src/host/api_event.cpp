// Events.
#include <algorithm>

#include "runtime.h"

using namespace simt;

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned int flags) {
  return api([&](Runtime& runtime) {
    constexpr unsigned known = cudaEventBlockingSync | cudaEventDisableTiming;
    require(handle, cudaErrorInvalidValue);
    require((flags & cudaEventInterprocess) == 0, cudaErrorNotSupported);
    require((flags & ~known) == 0, cudaErrorInvalidValue);
    runtime.current_device();
    auto event = std::make_shared<Event>();
    event->device = host_thread().device;
    event->flags = flags;
    std::lock_guard lock(runtime.mutex);
    runtime.events.add(std::move(event), handle);
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) { return destroy<&Runtime::events>(handle); }

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event_handle, cudaStream_t stream_handle,
                                     unsigned int flags) {
  return api([&](Runtime& runtime) {
    require(flags == cudaEventRecordDefault || flags == cudaEventRecordExternal, cudaErrorInvalidValue);
    std::unique_lock lock(runtime.mutex);
    const auto stream = runtime.stream_with_room(lock, stream_handle, "an event record");
    const auto event = runtime.event(event_handle);
    require(event->device == stream->device, cudaErrorInvalidResourceHandle);
    runtime.forbid_implicit_dependency(*stream);
    if (!stream->capture) {
      event->capture = nullptr;
      event->task = runtime.append(*stream, nullptr);
      runtime.order_marker(*stream);
      event->after = stream->after;
    } else if (flags == cudaEventRecordExternal) {
      const auto node = std::make_shared<Node>();
      node->recorded = event;
      runtime.add_node(stream, node);
    } else {
      require(!stream->capture->invalidated, cudaErrorStreamCaptureInvalidated);
      event->task = nullptr;
      event->capture = stream->capture;
      event->captured_tail = stream->captured_tail;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t event_handle, unsigned int flags) {
  return api([&](Runtime& runtime) {
    require(flags == cudaEventWaitDefault || flags == cudaEventWaitExternal, cudaErrorInvalidValue);
    std::unique_lock lock(runtime.mutex);
    const auto event = runtime.event(event_handle);
    const auto stream = runtime.stream(stream_handle);
    runtime.forbid_implicit_dependency(*stream);
    if (stream->capture && flags == cudaEventWaitExternal) {
      const auto node = std::make_shared<Node>();
      node->awaited = event;
      runtime.add_node(stream, node);
    } else if (stream->capture || event->capture) {
      runtime.wait_in_capture(stream, *event);
    } else if (const TaskPtr recorded = event->task; recorded && !recorded->finished()) {
      runtime.order_marker(*stream, &event->after);
      runtime.make_room(lock, stream, "a wait for an event");
      runtime.append(*stream, nullptr,
                     recorded);  // delays the streams of the same hardware queue, like any operation
    } else {
      runtime.order_marker(*stream, &event->after);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return api([&](Runtime& runtime) {
    runtime.scheduler.poll();
    std::lock_guard lock(runtime.mutex);
    const auto event = runtime.event(handle);
    require(!event->capture, cudaErrorCapturedEvent);
    runtime.forbid_during_capture();
    const cudaError_t failure = runtime.devices[static_cast<size_t>(event->device)]->failure;
    if (failure != cudaSuccess) return failure;
    if (event->task && !event->task->finished()) return cudaErrorNotReady;
    runtime.order.host_waited(event->after);
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return api([&](Runtime& runtime) {
    std::vector<TaskPtr> tasks;
    Clock waited;
    int device = 0;
    {
      std::lock_guard lock(runtime.mutex);
      const auto event = runtime.event(handle);
      require(!event->capture, cudaErrorCapturedEvent);
      runtime.forbid_during_capture();
      device = event->device;
      if (event->task) tasks.push_back(event->task);
      waited = event->after;
    }
    return wait_for(tasks, device, waited);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start_handle, cudaEvent_t end_handle) {
  return api([&](Runtime& runtime) {
    require(milliseconds, cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    const auto start = runtime.event(start_handle);
    const auto end = runtime.event(end_handle);
    for (const auto& event : {start, end}) {
      require(!event->capture, cudaErrorCapturedEvent);
      require(event->task && (event->flags & cudaEventDisableTiming) == 0, cudaErrorInvalidResourceHandle);
    }
    require(start->device == end->device, cudaErrorInvalidResourceHandle);
    const cudaError_t failure = runtime.devices[static_cast<size_t>(start->device)]->failure;
    if (failure != cudaSuccess) return failure;
    if (!start->task->finished() || !end->task->finished()) return cudaErrorNotReady;
    runtime.order.host_waited(start->after);
    runtime.order.host_waited(end->after);
    const std::chrono::duration<float, std::milli> elapsed =
        end->task->finished_at - start->task->finished_at;
    *milliseconds = elapsed.count();
    return cudaSuccess;
  });
}
