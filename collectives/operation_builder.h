// OperationBuilder: the primitives with which the algorithms enqueue work. One object builds one operation.
// It holds the communicator's lock during its lifetime. Its destructor restores the caller's current device.
//
// Each rank has two streams in addition to the caller's: `copies` for sends and `sums` for computation, so
// that a rank can add one segment while the next one is in transit. The callers' streams only fork into these
// and join them again. This keeps the operations of one communicator in order whatever streams the callers
// use, and makes a captured graph self-contained.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/collectives/data_view.h>
#include <rondo/collectives/reduce/reduce_vectors.h>
#include <rondo/kernels/runtime/trace.h>

#include <array>
#include <mutex>
#include <span>

namespace rondo {

// Source or destination of a copy, in the memory of a rank.
struct RankMemory {
  void* data;
  int rank;
};
struct ConstRankMemory {
  const void* data;
  int rank;
};

class OperationBuilder {
 public:
  // `captured`: the callers' streams are being captured (capture_of() in arguments.h). `lock`: of the
  // communicator's mutex.
  OperationBuilder(const char* operation, Communicator& communicator, std::span<const cudaStream_t> callers,
                   bool captured, std::unique_lock<std::mutex> lock);
  ~OperationBuilder();
  OperationBuilder(const OperationBuilder&) = delete;
  OperationBuilder& operator=(const OperationBuilder&) = delete;

  const char* operation() const { return operation_; }
  Communicator& communicator() { return communicator_; }
  int ranks() const { return communicator_.size(); }
  // The rank of the last copy, sum, wait or record, for error messages.
  int current_rank() const { return current_rank_; }
  std::span<const cudaStream_t> callers() const { return callers_; }
  cudaStream_t copies(int rank) const { return communicator_.of(rank).copies; }
  cudaStream_t sums(int rank) const { return communicator_.of(rank).sums; }
  bool captured() const { return captured_; }

  // The event that fork() or begin_barrier() records on the caller's stream of `rank`: all work enqueued
  // there before the operation is done.
  cudaEvent_t entered(int rank) const {
    return inside_ ? communicator_.of(rank).suboperation_begun : events_of(rank).entered;
  }
  // Declares that the operation runs the ring's steps [first, last).
  void set_steps(int first, int last);

  // For an operation that consists of several operations: from use_own_streams() to use_callers_streams(),
  // the ranks' streams `sums` take the role of the callers' streams. Call both between fork() and join().
  void use_own_streams();
  void use_callers_streams();

  // The rank's own streams wait for the caller's. Must be the first call of the operation.
  Status fork();
  // The caller's stream of each rank waits for the rank's own streams and for the sends of `senders`: the
  // previous rank in the ring, or all ranks.
  enum class Senders { prev, all };
  Status join(Senders senders);
  // join() with all senders, for an operation that failed at any point.
  Status join_after_failure();
  // Barriers: later work on the callers' streams waits for the earlier work of all of them. For the beginning
  // and end of an operation that does not use fork() and join().
  Status begin_barrier();
  Status end_barrier();
  // The same barrier for the streams `sums`, between fork() and join().
  Status join_sums();
  // Records copied(rank): all sends of `rank` so far are done.
  Status record_copied(int rank);
  cudaEvent_t copied(int rank) const { return events_of(rank).copied; }

  Status wait(cudaStream_t stream, int rank, cudaEvent_t event);
  Status record(cudaEvent_t event, cudaStream_t stream, int rank);

  // Copies on `stream`, a stream of `rank`. `what` is the name of the copy in the trace.
  template <class... What>
  Status copy(int rank, cudaStream_t stream, RankMemory to, ConstRankMemory from, int64_t bytes,
              const What&... what) {
    const Trace::Scope span =
        trace_span(communicator_.trace(), rank, "copy", row_of(rank, stream), stream, what...);
    return copy_bytes(rank, stream, to, from, bytes);
  }

  // Runs `work` with the device of `rank` current.
  template <class Work>
  Status on(int rank, Work work) {
    RONDO_RETURN_IF_ERROR(make_current(rank));
    return work();
  }

  // Calls reduce_vectors() on `stream`, a stream of `rank`. `what` is the name of the sum in the trace.
  template <class... What>
  Status sum(int rank, cudaStream_t stream, DType dtype, Reduction reduction, SumOrder order,
             const ReduceArguments& arguments, const What&... what) {
    RONDO_RETURN_IF_ERROR(make_current(rank));
    const Trace::Scope span =
        trace_span(communicator_.trace(), rank, "sum", row_of(rank, stream), stream, what...);
    return reduce_vectors(operation_, dtype, reduction, order, arguments, stream);
  }

 private:
  using RankEvents = OperationTracker::Operation::RankEvents;
  const RankEvents& events_of(int rank) const { return tracked_.ranks[static_cast<size_t>(rank)]; }
  // Barrier over `streams`; event_of(rank) is recorded on streams[rank].
  template <class EventOf>
  Status join_streams(std::span<const cudaStream_t> streams, EventOf event_of);
  Status make_current(int rank);
  Status copy_bytes(int rank, cudaStream_t stream, RankMemory to, ConstRankMemory from, int64_t bytes);
  const char* row_of(int rank, cudaStream_t stream) const {
    return stream == copies(rank) ? "copies" : "sums";
  }

  const char* operation_;
  Communicator& communicator_;
  const std::span<const cudaStream_t> users_streams_;  // one per rank, passed to the constructor
  std::span<const cudaStream_t> callers_;              // users_streams_, or own_ after use_own_streams()
  std::array<cudaStream_t, kMaxRanks> own_;            // the ranks' streams `sums`
  bool captured_;
  bool inside_ = false;  // between use_own_streams() and use_callers_streams()
  std::unique_lock<std::mutex> lock_;
  OperationTracker::Operation& tracked_;  // the events and steps of this operation
  static constexpr int kUnknown = -1;
  int callers_device_ = kUnknown;
  int current_device_ = kUnknown;
  Status no_device_;  // why the callers' device is unknown; each call returns it
  int current_rank_ = 0;
};

}  // namespace rondo
