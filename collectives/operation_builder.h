// OperationBuilder: the verbs in which the algorithms are written. One object is one operation while it is being put on
// the streams; it holds the communicator's lock, and puts the caller's current device back at its end.
//
// Each rank has two streams of its own beside the caller's: `copies`, on which it sends, and `sums`, on which
// it computes. So a rank can add one segment while the next one travels. The callers' streams only fork into them
// and are joined by them; that keeps the operations of one communicator in order, whatever streams they are
// called with, and lets a recorded graph be complete in itself.
#pragma once

#include <rondo/collectives/reduce/reduce_vectors.h>
#include <rondo/collectives/communicator.h>
#include <rondo/collectives/data_view.h>
#include <rondo/kernels/runtime/trace.h>

#include <array>
#include <mutex>
#include <span>

namespace rondo {

// Where a copy begins or ends: memory of a rank.
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
  // `captured`: the callers' streams are being recorded (arguments.h, is_captured()).
  OperationBuilder(const char* operation, Communicator& communicator, std::span<const cudaStream_t> callers,
          bool captured);
  ~OperationBuilder();
  OperationBuilder(const OperationBuilder&) = delete;
  OperationBuilder& operator=(const OperationBuilder&) = delete;

  const char* operation() const { return operation_; }
  Communicator& communicator() { return communicator_; }
  int ranks() const { return communicator_.size(); }
  // For whom the latest work was enqueued, or was to be.
  int current_rank() const { return current_rank_; }
  std::span<const cudaStream_t> callers() const { return callers_; }
  cudaStream_t copies(int rank) const { return communicator_.of(rank).copies; }
  cudaStream_t sums(int rank) const { return communicator_.of(rank).sums; }
  bool captured() const { return captured_; }

  // Where `rank` has come to the operation.
  cudaEvent_t entered(int rank) const { return inside_ ? communicator_.of(rank).begun : marks(rank).entered; }
  // The operation takes the ring's steps [first, last).
  void takes_steps(int first, int last);

  // For an operation made of several: what follows takes the ranks' streams `sums` for the callers'. To be put between
  // fork() and join().
  void use_own_streams();
  void use_callers_streams();

  // The rank's own streams wait for the caller's; nothing else of the operation may come before it.
  Status fork();
  // The caller's stream of each rank waits for the rank's own streams, and for what is sent to it by `senders`:
  // the rank's left neighbour, or everyone.
  enum class Senders { prev, all };
  Status join(Senders senders);
  // A barrier: what the callers' streams get from now on waits for what all of them have got so far. To be put at the
  // operation's beginning or end, where no fork() or join() is.
  Status begin_barrier();
  Status end_barrier();
  // The same for the streams `sums`, anywhere in between.
  Status join_sums();
  // join(): what `rank` sends is sent.
  Status record_copied(int rank);
  cudaEvent_t copied(int rank) const { return marks(rank).copied; }

  Status wait(cudaStream_t stream, int rank, cudaEvent_t event);
  Status record(cudaEvent_t event, cudaStream_t stream, int rank);

  // Copies on `stream`, a stream of `rank`, which sends or fetches. The trace shows it as `what`.
  template <class... What>
  Status copy(int rank, cudaStream_t stream, RankMemory to, ConstRankMemory from, int64_t bytes,
              const What&... what) {
    const Trace::Scope span =
        trace_span(communicator_.trace(), rank, "copy", row_of(rank, stream), stream, what...);
    return copy_bytes(rank, stream, to, from, bytes);
  }

  // Any work for the device of `rank`.
  template <class Work>
  Status on(int rank, Work work) {
    RONDO_RETURN_IF_ERROR(make_current(rank));
    return work();
  }

  // reduce_vectors() on `stream`, a stream of `rank`.
  template <class... What>
  Status sum(int rank, cudaStream_t stream, DType dtype, Reduction reduction, SumOrder order,
             const ReduceArguments& combination, const What&... what) {
    RONDO_RETURN_IF_ERROR(make_current(rank));
    const Trace::Scope span =
        trace_span(communicator_.trace(), rank, "sum", row_of(rank, stream), stream, what...);
    return reduce_vectors(operation_, dtype, reduction, order, combination, stream);
  }

 private:
  using Marks = OperationTracker::Operation::Marks;
  const Marks& marks(int rank) const { return following_.ranks[static_cast<size_t>(rank)]; }
  // `event_of(rank)` is recorded on its stream.
  template <class EventOf>
  Status join_streams(std::span<const cudaStream_t> streams, EventOf event_of);
  Status make_current(int rank);
  Status copy_bytes(int rank, cudaStream_t stream, RankMemory to, ConstRankMemory from, int64_t bytes);
  const char* row_of(int rank, cudaStream_t stream) const {
    return stream == copies(rank) ? "copies" : "sums";
  }

  const char* operation_;
  Communicator& communicator_;
  std::span<const cudaStream_t> outside_, callers_;
  std::array<cudaStream_t, kMaxRanks> own_;
  bool captured_;
  bool inside_ = false;  // between use_own_streams() and use_callers_streams()
  std::unique_lock<std::mutex> lock_;
  OperationTracker::Operation& following_;
  int callers_device_ = 0;
  int current_device_ = -1;
  int current_rank_ = 0;
};

}  // namespace rondo
