// LaunchObserver: is notified of every kernel that the current host thread launches. launch() calls it.
// runtime/launch_trace.h uses it to record kernels in a trace.
#pragma once

#include <cuda_runtime_api.h>

namespace rondo {

class LaunchObserver {
 public:
  // Called before and after the launch of `kernel` on `stream`. Neither may throw.
  virtual void before_launch(const char* kernel, cudaStream_t stream) noexcept = 0;
  virtual void after_launch() noexcept = 0;

  // The observer of the current host thread; null for none.
  static inline thread_local LaunchObserver* current = nullptr;

 protected:
  ~LaunchObserver() = default;
};

}  // namespace rondo
