#include <rondo/kernels/core/launch_trace.h>

#include <algorithm>

namespace rondo {

LaunchTrace::LaunchTrace(Trace* trace, std::span<const cudaStream_t> streams)
    : trace_(trace), streams_(streams.begin(), streams.end()) {
  if (trace_) active_ = this;
}

LaunchTrace::~LaunchTrace() {
  if (active_ == this) active_ = nullptr;
}

Trace::Scope LaunchTrace::open(const char* kernel, cudaStream_t stream) {
  const auto found = std::find(streams_.begin(), streams_.end(), stream);
  if (found == streams_.end()) return {};
  return trace_->scope(kernel, "kernel", static_cast<int>(found - streams_.begin()), "compute", stream);
}

}  // namespace rondo
