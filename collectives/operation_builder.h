// OperationBuilder: the primitives with which the algorithms enqueue work.
//
// Each rank has two streams in addition to the caller's: `copies` for sends and `sums` for computation, so
// that a rank can add one segment while the next one is in transit. The callers' streams only fork into these
// and join them again. This keeps the operations of one communicator in order whatever streams the callers
// use, and makes a captured graph self-contained.
#pragma once

#include <rondo/collectives/rank_resources.h>
#include <rondo/collectives/reduce/reduce_vectors.h>
#include <rondo/collectives/types.h>
#include <rondo/kernels/runtime/trace.h>

#include <mutex>

namespace rondo {

// The ranks whose memory a sum reads and writes, for the trace. The rank that computes it may be among them.
struct SumPeers {
  PerRank<int> read, written;
};

// One call while its work is enqueued. Holds the lock of the ranks' resources, sets the current device, and
// restores the caller's at the end.
class EnqueueScope {
 public:
  // `captured`: the callers' streams are being captured. `lock`: of resources.mutex().
  EnqueueScope(const char* operation, RankResources& resources, bool captured,
               std::unique_lock<std::mutex> lock);
  ~EnqueueScope();
  EnqueueScope(const EnqueueScope&) = delete;
  EnqueueScope& operator=(const EnqueueScope&) = delete;

  // Makes the device of `rank` current.
  Status make_current(int rank);

  const char* const operation;
  RankResources& resources;
  const bool captured;
  OperationTracker::Operation& tracked;  // the events and steps of this operation
  int current_rank = 0;                  // of the last call of make_current(), for error messages

 private:
  std::unique_lock<std::mutex> lock_;
  static constexpr int kUnknown = -1;
  int callers_device_ = kUnknown;
  int current_device_ = kUnknown;
  Status no_device_;  // why the callers' device is unknown; each call returns it
};

class OperationBuilder {
 public:
  OperationBuilder(EnqueueScope& scope, RankStreams callers);
  // For an operation that consists of several: builds one of them, between fork() and join() of this builder.
  // The ranks' streams `sums` take the role of the callers' streams.
  OperationBuilder nested() const;

  const char* operation() const { return scope_.operation; }
  RankResources& resources() const { return resources_; }
  int ranks() const { return resources_.size(); }
  bool captured() const { return scope_.captured; }
  cudaStream_t caller(int rank) const { return callers_[rank]; }
  cudaStream_t copies(int rank) const { return resources_.of(rank).copies; }
  cudaStream_t sums(int rank) const { return resources_.of(rank).sums; }

  // The event that fork() or begin_barrier() records on the caller's stream of `rank`: all work enqueued
  // there before the operation is done.
  cudaEvent_t entered(int rank) const { return entered_[rank]; }
  // Declares that the operation runs the ring's steps [first, last).
  void set_steps(int first, int last);

  // The rank's own streams wait for the caller's. Must be the first call of the operation.
  Status fork();
  // The caller's stream of each rank waits for the rank's own streams and for the sends of `senders`: the
  // previous rank in the ring, or all ranks.
  enum class Senders { prev, all };
  Status join(Senders senders);
  // Barriers: later work on the callers' streams waits for the earlier work of all of them. For the beginning
  // and end of an operation that does not use fork() and join().
  Status begin_barrier();
  Status end_barrier();
  // The same barrier for the streams `sums`, between fork() and join().
  Status join_sums();
  // Records copied(rank): all sends of `rank` so far are done.
  Status record_copied(int rank);
  cudaEvent_t copied(int rank) const { return scope_.tracked.ranks[rank].copied; }

  Status wait(cudaStream_t stream, int rank, cudaEvent_t event);
  Status record(cudaEvent_t event, cudaStream_t stream, int rank);

  // Copies `from`, which is in the memory of `from_rank`, to `to` in the memory of `to_rank`, on `stream`, a
  // stream of `rank`. `what` is the name of the copy in the trace.
  template <class... What>
  Status copy(int rank, cudaStream_t stream, int to_rank, void* to, int from_rank, ConstDataView from,
              const What&... what) {
    Trace::Scope span = trace_span(resources_.trace(), rank, "copy", row_of(rank, stream), stream, what...);
    span.moves(from_rank, to_rank);
    return copy_bytes(rank, stream, to_rank, to, from_rank, from);
  }

  // Runs `work` with the device of `rank` current.
  template <class Work>
  Status on(int rank, Work work) {
    RONDO_RETURN_IF_ERROR(scope_.make_current(rank));
    return work();
  }

  // Calls reduce_vectors() on `stream`, a stream of `rank`. `what` is the name of the sum in the trace.
  template <class... What>
  Status sum(int rank, cudaStream_t stream, DType dtype, Reduction reduction, SumOrder order,
             const ReduceArguments& arguments, const SumPeers& peers, const What&... what) {
    RONDO_RETURN_IF_ERROR(scope_.make_current(rank));
    Trace::Scope span = trace_span(resources_.trace(), rank, "sum", row_of(rank, stream), stream, what...);
    for (const int peer : peers.read) span.moves(peer, rank);
    for (const int peer : peers.written) span.moves(rank, peer);
    return reduce_vectors(operation(), dtype, reduction, order, arguments, stream);
  }

 private:
  OperationBuilder(EnqueueScope& scope, PerRank<cudaStream_t> callers, PerRank<cudaEvent_t> entered)
      : scope_(scope),
        resources_(scope.resources),
        callers_(std::move(callers)),
        entered_(std::move(entered)) {}

  cudaEvent_t finished(int rank) const { return scope_.tracked.ranks[rank].finished; }
  // Barrier over the streams stream_of(rank), on each of which event_of(rank) is recorded.
  template <class StreamOf, class EventOf>
  Status join_streams(StreamOf stream_of, EventOf event_of);
  Status copy_bytes(int rank, cudaStream_t stream, int to_rank, void* to, int from_rank, ConstDataView from);
  const char* row_of(int rank, cudaStream_t stream) const {
    return stream == copies(rank) ? "copies" : "sums";
  }

  EnqueueScope& scope_;
  RankResources& resources_;
  PerRank<cudaStream_t> callers_;
  PerRank<cudaEvent_t> entered_;
};

}  // namespace rondo
