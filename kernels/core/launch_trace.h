// LaunchTrace: while one lives, every kernel that this thread launches on the streams it knows becomes a span
// of a Trace. Kernels need not know: rondo::launch() asks.
#pragma once

#include <rondo/kernels/core/trace.h>

#include <span>

namespace rondo {

class LaunchTrace {
 public:
  // `streams[rank]` is where that rank's kernels run; launches on other streams are not recorded. A null
  // `trace` records nothing. One at a time on each host thread.
  LaunchTrace(Trace* trace, std::span<const cudaStream_t> streams);
  ~LaunchTrace();
  LaunchTrace(const LaunchTrace&) = delete;
  LaunchTrace& operator=(const LaunchTrace&) = delete;

  // The span of one launch; nothing when no LaunchTrace lives or the stream is not one of its own.
  static Trace::Scope span(const char* kernel, cudaStream_t stream) {
    return active_ ? active_->open(kernel, stream) : Trace::Scope();
  }

 private:
  Trace::Scope open(const char* kernel, cudaStream_t stream);

  static inline thread_local LaunchTrace* active_ = nullptr;

  Trace* trace_;
  std::vector<cudaStream_t> streams_;
};

}  // namespace rondo
