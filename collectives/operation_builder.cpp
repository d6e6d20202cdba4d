#include <rondo/collectives/operation_builder.h>

namespace rondo {

EnqueueScope::EnqueueScope(const char* name, RankResources& of_ranks, bool is_captured,
                           std::unique_lock<std::mutex> lock)
    : operation(name),
      resources(of_ranks),
      captured(is_captured),
      tracked(resources.tracker().begin(operation, captured)),
      lock_(std::move(lock)) {
  const cudaError_t error = cudaGetDevice(&callers_device_);
  if (error != cudaSuccess) {  // of a device that has failed
    no_device_ = from_cuda(error, "asking for the current device");
    callers_device_ = kUnknown;
  }
  current_device_ = callers_device_;
}

EnqueueScope::~EnqueueScope() {
  if (current_device_ != callers_device_) static_cast<void>(cudaSetDevice(callers_device_));
}

Status EnqueueScope::make_current(int rank) {
  current_rank = rank;
  if (!no_device_.ok()) return no_device_;
  const int device = resources.of(rank).device;
  if (device == current_device_) return {};
  current_device_ = kUnknown;
  RONDO_CUDA(cudaSetDevice(device));
  current_device_ = device;
  return {};
}

// The events that the tracker follows tell when the ranks have arrived at the call.
OperationBuilder::OperationBuilder(EnqueueScope& scope, RankStreams callers)
    : OperationBuilder(scope, PerRank<cudaStream_t>(callers.begin(), callers.end()), {}) {
  for (const auto& events : scope.tracked.ranks) entered_.push_back(events.entered);
}

OperationBuilder OperationBuilder::nested() const {
  OperationBuilder inner(scope_, {}, {});
  for (int rank = 0; rank < ranks(); ++rank) {
    inner.callers_.push_back(sums(rank));
    inner.entered_.push_back(resources_.of(rank).entered_inner);
  }
  return inner;
}

Status OperationBuilder::wait(cudaStream_t stream, int rank, cudaEvent_t event) {
  RONDO_RETURN_IF_ERROR(scope_.make_current(rank));
  RONDO_CUDA(cudaStreamWaitEvent(stream, event, cudaEventWaitDefault));
  return {};
}

Status OperationBuilder::record(cudaEvent_t event, cudaStream_t stream, int rank) {
  RONDO_RETURN_IF_ERROR(scope_.make_current(rank));
  RONDO_CUDA(cudaEventRecord(event, stream));
  return {};
}

// cudaMemcpyPeerAsync works for every pair of devices, with or without peer access, but cannot be captured.
// The plain copy can; it derives the devices from the addresses.
Status OperationBuilder::copy_bytes(int rank, cudaStream_t stream, int to_rank, void* to, int from_rank,
                                    ConstDataView from) {
  RONDO_RETURN_IF_ERROR(scope_.make_current(rank));
  const int to_device = resources_.of(to_rank).device, from_device = resources_.of(from_rank).device;
  if (captured() || to_device == from_device)
    RONDO_CUDA(cudaMemcpyAsync(to, from.data, from.bytes(), cudaMemcpyDefault, stream));
  else
    RONDO_CUDA(cudaMemcpyPeerAsync(to, to_device, from.data, from_device, from.bytes(), stream));
  return {};
}

Status OperationBuilder::fork() {
  for (int rank = 0; rank < ranks(); ++rank) {
    const RankResources::Rank& r = resources_.of(rank);
    RONDO_RETURN_IF_ERROR(record(entered(rank), caller(rank), rank));
    RONDO_RETURN_IF_ERROR(wait(r.copies, rank, entered(rank)));
    RONDO_RETURN_IF_ERROR(wait(r.sums, rank, entered(rank)));
  }
  return {};
}

Status OperationBuilder::join(Senders senders) {
  for (int rank = 0; rank < ranks(); ++rank) {
    RONDO_RETURN_IF_ERROR(record_copied(rank));
    RONDO_RETURN_IF_ERROR(record(finished(rank), sums(rank), rank));
  }
  for (int position = 0; position < ranks(); ++position) {
    const int rank = resources_.rank_at(position);
    const cudaStream_t stream = caller(rank);
    RONDO_RETURN_IF_ERROR(wait(stream, rank, finished(rank)));
    RONDO_RETURN_IF_ERROR(wait(stream, rank, copied(rank)));
    if (senders == Senders::prev) {
      const int prev = resources_.rank_at(ring::prev_position(position, ranks()));
      RONDO_RETURN_IF_ERROR(wait(stream, rank, copied(prev)));
      continue;
    }
    for (int other = 0; other < ranks(); ++other)
      if (other != rank) RONDO_RETURN_IF_ERROR(wait(stream, rank, copied(other)));
  }
  return {};
}

// Through rank 0's stream: 3n - 2 calls. If every stream waited for every other one it would be n * n.
template <class StreamOf, class EventOf>
Status OperationBuilder::join_streams(StreamOf stream_of, EventOf event_of) {
  for (int rank = 0; rank < ranks(); ++rank) {
    const cudaEvent_t event = event_of(rank);
    RONDO_RETURN_IF_ERROR(record(event, stream_of(rank), rank));
    if (rank > 0) RONDO_RETURN_IF_ERROR(wait(stream_of(0), 0, event));
  }
  if (ranks() == 1) return {};
  const cudaEvent_t all_arrived = resources_.of(0).all_arrived;
  RONDO_RETURN_IF_ERROR(record(all_arrived, stream_of(0), 0));
  for (int rank = 1; rank < ranks(); ++rank) RONDO_RETURN_IF_ERROR(wait(stream_of(rank), rank, all_arrived));
  return {};
}

Status OperationBuilder::begin_barrier() {
  return join_streams([this](int rank) { return caller(rank); }, [this](int rank) { return entered(rank); });
}

Status OperationBuilder::end_barrier() {
  return join_streams([this](int rank) { return caller(rank); }, [this](int rank) { return finished(rank); });
}

Status OperationBuilder::join_sums() {
  return join_streams([this](int rank) { return sums(rank); },
                      [this](int rank) -> cudaEvent_t { return resources_.of(rank).arrived; });
}

Status OperationBuilder::record_copied(int rank) { return record(copied(rank), copies(rank), rank); }

void OperationBuilder::set_steps(int first, int last) {
  scope_.tracked.first_step = first;
  scope_.tracked.last_step = last;
}

}  // namespace rondo
