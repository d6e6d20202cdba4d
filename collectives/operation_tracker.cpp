#include <rondo/collectives/operation_tracker.h>

#include <algorithm>

namespace rondo {

namespace {

OperationTracker::Operation events_on(std::span<const int> devices) {
  OperationTracker::Operation made;
  for (const int device : devices) {
    const DeviceScope scope(device);
    made.ranks.emplace_back();
  }
  return made;
}

// Needs a RelaxedCaptureScope.
bool is_done(const OperationTracker::Operation& operation) {
  return std::all_of(operation.ranks.begin(), operation.ranks.end(), [](const auto& events) {
    return is_complete(events.finished) && is_complete(events.copied) && is_complete(events.entered);
  });
}

}  // namespace

bool is_complete(cudaEvent_t event) {
  const bool over = cudaEventQuery(event) == cudaSuccess;
  if (!over) static_cast<void>(cudaGetLastError());
  return over;
}

OperationTracker::OperationTracker(std::span<const int> devices)
    : overflow_(events_on(devices)), captured_(events_on(devices)) {
  for (size_t i = 0; i < kTracked; ++i) tracked_.push_back(events_on(devices));
}

OperationTracker::Operation& OperationTracker::begin(const char* name, bool captured) {
  Operation& oldest = tracked_[next_];
  const RelaxedCaptureScope relaxed;
  const bool has_room = !captured && (oldest.number < 0 || is_done(oldest));
  Operation& operation = captured ? captured_ : has_room ? oldest : overflow_;
  operation.name = name;
  operation.first_step = operation.last_step = 0;
  operation.follows_unknown = overflowed_;
  operation.number = count_;
  if (captured) return operation;
  ++count_;
  overflowed_ = !has_room;
  if (has_room) next_ = (next_ + 1) % kTracked;
  return operation;
}

const OperationTracker::Operation* OperationTracker::first_unfinished() const {
  const Operation* first = nullptr;
  const auto look_at = [&](const Operation& operation) {
    if (operation.number < 0 || is_done(operation)) return;
    if (!first || operation.number < first->number) first = &operation;
  };
  for (const Operation& operation : tracked_) look_at(operation);
  look_at(overflow_);
  return first;
}

}  // namespace rondo
