#include <rondo/collectives/operation_builder.h>

namespace rondo {

OperationBuilder::OperationBuilder(const char* operation, Communicator& communicator,
                                   std::span<const cudaStream_t> callers, bool captured,
                                   std::unique_lock<std::mutex> lock)
    : operation_(operation),
      communicator_(communicator),
      users_streams_(callers),
      callers_(callers),
      captured_(captured),
      lock_(std::move(lock)),
      tracked_(communicator.tracker().begin(operation, captured)) {
  const cudaError_t error = cudaGetDevice(&callers_device_);
  if (error != cudaSuccess) {  // of a device that has failed
    no_device_ = from_cuda(error, "asking for the current device");
    callers_device_ = kUnknown;
  }
  current_device_ = callers_device_;
  for (int rank = 0; rank < ranks(); ++rank) own_[static_cast<size_t>(rank)] = sums(rank);
}

OperationBuilder::~OperationBuilder() {
  if (current_device_ != callers_device_) static_cast<void>(cudaSetDevice(callers_device_));
}

Status OperationBuilder::make_current(int rank) {
  current_rank_ = rank;
  if (!no_device_.ok()) return no_device_;
  const int device = communicator_.device(rank);
  if (device == current_device_) return {};
  current_device_ = kUnknown;
  RONDO_CUDA(cudaSetDevice(device));
  current_device_ = device;
  return {};
}

Status OperationBuilder::wait(cudaStream_t stream, int rank, cudaEvent_t event) {
  RONDO_RETURN_IF_ERROR(make_current(rank));
  RONDO_CUDA(cudaStreamWaitEvent(stream, event, cudaEventWaitDefault));
  return {};
}

Status OperationBuilder::record(cudaEvent_t event, cudaStream_t stream, int rank) {
  RONDO_RETURN_IF_ERROR(make_current(rank));
  RONDO_CUDA(cudaEventRecord(event, stream));
  return {};
}

// cudaMemcpyPeerAsync works for every pair of devices, with or without peer access, but cannot be captured.
// The plain copy can; it derives the devices from the addresses.
Status OperationBuilder::copy_bytes(int rank, cudaStream_t stream, RankMemory to, ConstRankMemory from,
                                    int64_t bytes) {
  RONDO_RETURN_IF_ERROR(make_current(rank));
  const int to_device = communicator_.device(to.rank), from_device = communicator_.device(from.rank);
  if (captured_ || to_device == from_device)
    RONDO_CUDA(cudaMemcpyAsync(to.data, from.data, static_cast<size_t>(bytes), cudaMemcpyDefault, stream));
  else
    RONDO_CUDA(
        cudaMemcpyPeerAsync(to.data, to_device, from.data, from_device, static_cast<size_t>(bytes), stream));
  return {};
}

Status OperationBuilder::fork() {
  for (int rank = 0; rank < ranks(); ++rank) {
    const Communicator::Rank& r = communicator_.of(rank);
    RONDO_RETURN_IF_ERROR(record(entered(rank), callers_[static_cast<size_t>(rank)], rank));
    RONDO_RETURN_IF_ERROR(wait(r.copies, rank, entered(rank)));
    RONDO_RETURN_IF_ERROR(wait(r.sums, rank, entered(rank)));
  }
  return {};
}

Status OperationBuilder::join(Senders senders) {
  for (int rank = 0; rank < ranks(); ++rank) {
    RONDO_RETURN_IF_ERROR(record_copied(rank));
    RONDO_RETURN_IF_ERROR(record(events_of(rank).finished, sums(rank), rank));
  }
  for (int position = 0; position < ranks(); ++position) {
    const int rank = communicator_.rank_at(position);
    const cudaStream_t caller = callers_[static_cast<size_t>(rank)];
    RONDO_RETURN_IF_ERROR(wait(caller, rank, events_of(rank).finished));
    RONDO_RETURN_IF_ERROR(wait(caller, rank, copied(rank)));
    if (senders == Senders::prev) {
      const int prev = communicator_.rank_at(ring::prev_position(position, ranks()));
      RONDO_RETURN_IF_ERROR(wait(caller, rank, copied(prev)));
      continue;
    }
    for (int other = 0; other < ranks(); ++other)
      if (other != rank) RONDO_RETURN_IF_ERROR(wait(caller, rank, copied(other)));
  }
  return {};
}

Status OperationBuilder::join_after_failure() {
  use_callers_streams();
  return join(Senders::all);
}

// Through rank 0's stream: 3n - 2 calls. If every stream waited for every other one it would be n * n.
template <class EventOf>
Status OperationBuilder::join_streams(std::span<const cudaStream_t> streams, EventOf event_of) {
  for (int rank = 0; rank < ranks(); ++rank) {
    const cudaEvent_t event = event_of(rank);
    RONDO_RETURN_IF_ERROR(record(event, streams[static_cast<size_t>(rank)], rank));
    if (rank > 0) RONDO_RETURN_IF_ERROR(wait(streams[0], 0, event));
  }
  if (ranks() == 1) return {};
  const cudaEvent_t all_arrived = communicator_.of(0).all_arrived;
  RONDO_RETURN_IF_ERROR(record(all_arrived, streams[0], 0));
  for (int rank = 1; rank < ranks(); ++rank)
    RONDO_RETURN_IF_ERROR(wait(streams[static_cast<size_t>(rank)], rank, all_arrived));
  return {};
}

Status OperationBuilder::begin_barrier() {
  return join_streams(callers_, [this](int rank) { return entered(rank); });
}

Status OperationBuilder::end_barrier() {
  return join_streams(callers_, [this](int rank) -> cudaEvent_t { return events_of(rank).finished; });
}

Status OperationBuilder::join_sums() {
  return join_streams({own_.data(), static_cast<size_t>(ranks())},
                      [this](int rank) -> cudaEvent_t { return communicator_.of(rank).arrived; });
}

Status OperationBuilder::record_copied(int rank) { return record(copied(rank), copies(rank), rank); }

void OperationBuilder::set_steps(int first, int last) {
  if (inside_) return;  // one of several operations, which all record the same events
  tracked_.first_step = first;
  tracked_.last_step = last;
}

void OperationBuilder::use_own_streams() {
  callers_ = {own_.data(), static_cast<size_t>(ranks())};
  inside_ = true;
}

void OperationBuilder::use_callers_streams() {
  callers_ = users_streams_;
  inside_ = false;
}

}  // namespace rondo
