#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/runtime/event_times.h>
#include <rondo/kernels/runtime/trace.h>

#include <chrono>
#include <limits>

namespace rondo {

namespace {

// Of a device's clock with the host's: on a busy machine most of them wait for a core.
constexpr int kComparisons = 10;

double microseconds_now() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// In a captured graph a plain event record only orders work; an "external" one makes a node with a time
// stamp.
void stamp(cudaEvent_t event, int device, cudaStream_t stream) {
  DeviceScope scope(device);  // needed for the default stream, which exists on every device
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  RONDO_CUDA_THROW(cudaStreamIsCapturing(stream, &capture));
  const bool captured = capture == cudaStreamCaptureStatusActive;
  RONDO_CUDA_THROW(
      cudaEventRecordWithFlags(event, stream, captured ? cudaEventRecordExternal : cudaEventRecordDefault));
}

float milliseconds_between(cudaEvent_t begin, cudaEvent_t end) {
  float milliseconds = 0;
  RONDO_CUDA_THROW(cudaEventElapsedTime(&milliseconds, begin, end));
  return milliseconds;
}

}  // namespace

// Uses its own streams: the default stream would wait for others, and must not be used while they are
// captured.
Trace::Trace(std::vector<int> devices) : devices_(std::move(devices)) {
  const RelaxedCaptureScope relaxed;
  const double begin = microseconds_now();
  for (int device : devices_) {
    DeviceScope scope(device);
    const auto [zero, is_new] = zeros_.try_emplace(device);
    if (!is_new) continue;
    const Stream stream;
    double quickest = std::numeric_limits<double>::infinity();
    for (int comparison = 0; comparison < kComparisons; ++comparison) {
      Zero next;
      const double before = microseconds_now();
      RONDO_CUDA_THROW(cudaEventRecord(next.event, stream));
      RONDO_CUDA_THROW(cudaEventSynchronize(next.event));
      const double after = microseconds_now();
      if (after - before >= quickest) continue;
      quickest = after - before;
      next.microseconds = (before + after) / 2 - begin;
      zero->second = std::move(next);
    }
  }
}

Trace::Scope Trace::scope(std::string name, std::string category, int rank, std::string stream_label,
                          cudaStream_t stream) {
  if (!failure_.ok()) return {};
  if (rank < 0 || rank >= static_cast<int>(devices_.size())) {
    failure_ = bad_argument("trace: the span ", name, " is of rank ", rank, ", the trace has ",
                            counted(devices_.size(), "rank"));
    return {};
  }
  try {
    const int device = devices_[static_cast<size_t>(rank)];
    DeviceScope scope(device);
    TraceSpan span = {std::move(name), std::move(category), rank, std::move(stream_label)};
    span.step = step_;
    span.phase = phase_;
    recorded_.push_back({std::move(span)});
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
  const RelaxedCaptureScope relaxed;
  std::map<int, std::vector<size_t>> records_of;  // per device
  for (size_t i = 0; i < recorded_.size(); ++i)
    records_of[devices_[static_cast<size_t>(recorded_[i].span.rank)]].push_back(i);

  std::vector<TraceSpan> spans;
  for (const Record& record : recorded_) {
    RONDO_CUDA_THROW(cudaEventSynchronize(record.end));
    spans.push_back(record.span);
  }
  for (const auto& [device, records] : records_of) {
    const Zero& zero = zeros_.at(device);
    const auto begin_of = [&](size_t i) -> cudaEvent_t { return recorded_[records[i]].begin; };
    const std::vector<double> begins = event_times(
        records.size(), [&](size_t i) { return milliseconds_between(zero.event, begin_of(i)); },
        [&](size_t i, size_t j) { return milliseconds_between(begin_of(i), begin_of(j)); });
    for (size_t i = 0; i < records.size(); ++i) {
      TraceSpan& span = spans[records[i]];
      span.begin_us = zero.microseconds + begins[i];
      span.end_us = span.begin_us +
                    1e3 * static_cast<double>(milliseconds_between(begin_of(i), recorded_[records[i]].end));
    }
  }
  return spans;
}

}  // namespace rondo
