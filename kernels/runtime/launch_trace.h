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
  // `streams[rank]` is the stream of that rank's kernels. Launches on other streams are not recorded. A null
  // `trace` records nothing. There may be at most one LaunchTrace per host thread at a time.
  LaunchTrace(Trace* trace, std::span<const cudaStream_t> streams);
  ~LaunchTrace();
  LaunchTrace(const LaunchTrace&) = delete;
  LaunchTrace& operator=(const LaunchTrace&) = delete;

 private:
  void before_launch(const char* kernel, cudaStream_t stream) noexcept override;
  void after_launch() noexcept override;

  Trace* trace_;
  std::vector<cudaStream_t> streams_;
  std::optional<Trace::Scope> span_;  // span of the launch in progress
};

}  // namespace rondo
