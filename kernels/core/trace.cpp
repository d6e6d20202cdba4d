#include <rondo/kernels/core/trace.h>

#include <chrono>

namespace rondo {

namespace {

double microseconds_now() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Inside a recorded graph a plain record only orders; "external" makes a node that stamps the time.
void stamp(cudaEvent_t event, int device, cudaStream_t stream) {
  DeviceScope scope(device);  // matters for the default stream, which every device has
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  RONDO_CUDA_THROW(cudaStreamIsCapturing(stream, &capture));
  const bool captured = capture == cudaStreamCaptureStatusActive;
  RONDO_CUDA_THROW(
      cudaEventRecordWithFlags(event, stream, captured ? cudaEventRecordExternal : cudaEventRecordDefault));
}

}  // namespace

Trace::Trace(std::vector<int> devices) : devices_(std::move(devices)) {
  for (int device : devices_) {
    DeviceScope scope(device);
    RONDO_CUDA_THROW(cudaDeviceSynchronize());
  }
  const double begin = microseconds_now();
  for (int device : devices_) {
    DeviceScope scope(device);
    const auto [zero, is_new] = zeros_.try_emplace(device);
    if (!is_new) continue;
    RONDO_CUDA_THROW(cudaEventRecord(zero->second.event, nullptr));
    RONDO_CUDA_THROW(cudaEventSynchronize(zero->second.event));
    zero->second.microseconds = microseconds_now() - begin;
  }
}

Trace::Scope Trace::scope(std::string name, std::string category, int rank, std::string stream_label,
                          cudaStream_t stream) {
  if (!failure_.ok()) return {};
  if (rank < 0 || rank >= static_cast<int>(devices_.size())) {
    failure_ = bad_argument("trace: the span ", name, " is of rank ", rank, ", the trace has ",
                            devices_.size(), " ranks");
    return {};
  }
  try {
    const int device = devices_[static_cast<size_t>(rank)];
    DeviceScope scope(device);
    recorded_.push_back({TraceSpan{std::move(name), std::move(category), rank, std::move(stream_label)}});
    stamp(recorded_.back().begin, device, stream);
  } catch (const Error& error) {
    failure_ = error.status();
    return {};
  }
  return Scope(this, recorded_.size() - 1, stream);
}

void Trace::end(size_t index, cudaStream_t stream) {
  if (!failure_.ok()) return;
  try {
    const Record& record = recorded_[index];
    stamp(record.end, devices_[static_cast<size_t>(record.span.rank)], stream);
  } catch (const Error& error) {
    failure_ = error.status();
  }
}

std::vector<TraceSpan> Trace::collect() const {
  throw_if_error(failure_);
  for (int device : devices_) {
    DeviceScope scope(device);
    RONDO_CUDA_THROW(cudaDeviceSynchronize());
  }
  std::vector<TraceSpan> spans;
  for (const Record& record : recorded_) {
    const Zero& zero = zeros_.at(devices_[static_cast<size_t>(record.span.rank)]);
    const auto since_start = [&](const Event& event) {
      float milliseconds = 0;
      RONDO_CUDA_THROW(cudaEventElapsedTime(&milliseconds, zero.event, event));
      return zero.microseconds + 1e3 * static_cast<double>(milliseconds);
    };
    spans.push_back(record.span);
    spans.back().begin_us = since_start(record.begin);
    spans.back().end_us = since_start(record.end);
  }
  return spans;
}

}  // namespace rondo
