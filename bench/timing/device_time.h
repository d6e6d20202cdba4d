// The time of work on a device, between two events of its stream.
#pragma once

#include <rondo/kernels/runtime/buffer.h>

#include <functional>

namespace rondo::bench {

// Enqueues one call on the stream.
using EnqueueFunction = std::function<Status(cudaStream_t)>;

// Enqueues on a new stream, and waits. Throws if it fails.
void run_once(const EnqueueFunction& enqueue);

// Enqueues once, and waits: loads the kernels, and detects errors before the timing. Throws if it fails.
void warm_up(cudaStream_t stream, const EnqueueFunction& enqueue);

// Seconds between two recorded events. Waits for the second one.
double seconds_between(cudaEvent_t begin, cudaEvent_t end);

// Seconds between two events, one before and one after the work of `enqueue`. Waits for the work.
double seconds_of(cudaStream_t stream, const std::function<void(cudaStream_t)>& enqueue);
// The same for one call. Throws if it fails.
double seconds_of_call(cudaStream_t stream, const EnqueueFunction& enqueue);

}  // namespace rondo::bench
