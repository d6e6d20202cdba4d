#include <rondo/nn/train/phase_timer.h>

#include <numeric>

namespace rondo {

PhaseTimer::PhaseTimer(int device, cudaStream_t stream) : device_(device), stream_(stream) {
  const DeviceScope scope(device);
  for (int mark = 0; mark <= kPhases; ++mark) marks_.emplace_back(Event::Kind::timing);
}

void PhaseTimer::record(size_t mark) {
  const DeviceScope scope(device_);
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  RONDO_CUDA_THROW(cudaStreamIsCapturing(stream_, &capture));
  // During capture, a plain event record only creates a dependency. An "external" record creates a graph node
  // that records the time at every replay.
  const unsigned flags =
      capture == cudaStreamCaptureStatusActive ? cudaEventRecordExternal : cudaEventRecordDefault;
  RONDO_CUDA_THROW(cudaEventRecordWithFlags(marks_[mark], stream_, flags));
}

PhaseSeconds PhaseTimer::read() const {
  PhaseSeconds seconds = {};
  for (size_t phase = 0; phase < seconds.size(); ++phase) {
    float milliseconds = 0;
    RONDO_CUDA_THROW(cudaEventElapsedTime(&milliseconds, marks_[phase], marks_[phase + 1]));
    seconds[phase] = milliseconds * 1e-3;
  }
  return seconds;
}

PhaseSeconds share_out(double seconds, PhaseSeconds step) {
  const double sum = std::accumulate(step.begin(), step.end(), 0.0);
  for (double& phase : step) phase *= sum > 0 ? seconds / sum : 0;
  return step;
}

}  // namespace rondo
