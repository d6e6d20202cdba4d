// LaunchTrace: while it exists, every kernel that this thread launches on the given streams becomes a span of
// a Trace.
#pragma once

#include <rondo/kernels/core/launch_observer.h>
#include <rondo/kernels/runtime/trace.h>

#include <optional>
#include <span>
#include <vector>

namespace rondo {

class LaunchTrace final : private LaunchObserver {
 public:
  // `streams[rank]` is where that rank's kernels run; launches on other streams are not recorded. A null
  // `trace` records nothing. At most one at a time on each host thread.
  LaunchTrace(Trace* trace, std::span<const cudaStream_t> streams);
  ~LaunchTrace();
  LaunchTrace(const LaunchTrace&) = delete;
  LaunchTrace& operator=(const LaunchTrace&) = delete;

 private:
  void before_launch(const char* kernel, cudaStream_t stream) noexcept override;
  void after_launch() noexcept override;

  Trace* trace_;
  std::vector<cudaStream_t> streams_;
  std::optional<Trace::Scope> span_;  // of the launch that is being made
};

}  // namespace rondo
