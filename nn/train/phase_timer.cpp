#include <rondo/nn/train/phase_timer.h>

#include <numeric>

namespace rondo {

PhaseTimer::PhaseTimer(cudaStream_t stream) : stream_(stream) {}

void PhaseTimer::begin() { record(begin_); }
void PhaseTimer::end(Phase phase) { record(ends_[static_cast<size_t>(phase)]); }

void PhaseTimer::record(cudaEvent_t event) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  RONDO_CUDA_THROW(cudaStreamIsCapturing(stream_, &capture));
  // During capture, a plain event record only creates a dependency. An "external" record creates a graph node
  // that records the time at every replay.
  const unsigned flags =
      capture == cudaStreamCaptureStatusActive ? cudaEventRecordExternal : cudaEventRecordDefault;
  RONDO_CUDA_THROW(cudaEventRecordWithFlags(event, stream_, flags));
}

PhaseSeconds PhaseTimer::read() const {
  PhaseSeconds seconds = {};
  cudaEvent_t from = begin_;
  for (int phase = 0; phase < kPhases; ++phase) {
    float milliseconds = 0;
    RONDO_CUDA_THROW(cudaEventElapsedTime(&milliseconds, from, ends_[static_cast<size_t>(phase)]));
    seconds[static_cast<size_t>(phase)] = milliseconds * 1e-3;
    from = ends_[static_cast<size_t>(phase)];
  }
  return seconds;
}

PhaseSeconds share_out(double seconds, PhaseSeconds step) {
  const double sum = std::accumulate(step.begin(), step.end(), 0.0);
  for (double& phase : step) phase *= sum > 0 ? seconds / sum : 0;
  return step;
}

}  // namespace rondo
