#include <rondo/kernels/runtime/launch_trace.h>

#include <algorithm>

namespace rondo {

LaunchTrace::LaunchTrace(Trace* trace, std::span<const cudaStream_t> streams)
    : trace_(trace), streams_(streams.begin(), streams.end()) {
  if (trace_) current = this;
}

LaunchTrace::~LaunchTrace() {
  if (current == this) current = nullptr;
}

void LaunchTrace::before_launch(const char* kernel, cudaStream_t stream) noexcept {
  const auto found = std::find(streams_.begin(), streams_.end(), stream);
  if (found == streams_.end()) return;
  span_.emplace(
      trace_->scope(kernel, "kernel", static_cast<int>(found - streams_.begin()), "compute", stream));
}

void LaunchTrace::after_launch() noexcept { span_.reset(); }

}  // namespace rondo
