#include <rondo/collectives/across_hosts/exchange.h>
#include <rondo/collectives/arguments.h>
#include <rondo/collectives/call.h>

namespace rondo {

SerializedCall::SerializedCall(Communicator& communicator) : exchange_(communicator.resources().exchange()) {
  if (exchange_) lock_ = std::unique_lock(exchange_->group().call_mutex());
}

Status SerializedCall::agree(const char* operation, const Status& checked, std::span<const DataView> vectors,
                             Reduction reduction) {
  if (!exchange_) return checked;
  if (exchange_->group().repeats()) {  // the recorded call was agreed on
    if (checked.ok()) exchange_->begin_operation();
    return checked;
  }
  Call call;
  call.communicator = exchange_->communicator();
  call.vectors = static_cast<int64_t>(vectors.size());
  call.reduction = reduction;
  if (!vectors.empty()) call.dtype = vectors[0].dtype;
  for (const DataView& vector : vectors) {
    call.size += vector.size;
    for (const auto part : {static_cast<uint64_t>(vector.size), static_cast<uint64_t>(vector.dtype)})
      call.shape = (call.shape ^ part) * 1099511628211u;
  }
  RONDO_RETURN_IF_ERROR(rondo::agree(exchange_->group(), operation, call, checked));
  exchange_->begin_operation();
  return {};
}

Status enqueue(const char* operation, Communicator& communicator, RankStreams streams,
               const std::function<Status(OperationBuilder&)>& work) {
  StreamCapture capture;
  RONDO_RETURN_IF_ERROR(capture_of(streams[0], capture));
  Status status;
  bool in_step = true;
  {
    // The lock comes before the check of the communicator's streams: another thread may be capturing.
    std::unique_lock lock(communicator.resources().mutex());
    RONDO_RETURN_IF_ERROR(check_own_streams(operation, communicator, capture));
    EnqueueScope scope(operation, communicator.resources(), capture.captured, std::move(lock));
    OperationBuilder builder(scope, streams);
    status = work(builder);
    if (status.ok()) return status;
    const bool recoverable =
        status.code() == StatusCode::bad_argument || status.code() == StatusCode::out_of_resources;
    in_step = capture.captured && recoverable;
    const int rank = scope.current_rank;
    status = Status(status.code(),
                    concat(operation, ", rank ", rank, " on device ", communicator.device(rank), ": ",
                           status.message(), in_step ? "" : "; the results of all ranks are invalid"));
    if (!capture.captured) static_cast<void>(builder.join(OperationBuilder::Senders::all));
  }
  if (!in_step) communicator.abort(status);
  return status;
}

}  // namespace rondo
