// Exchange: the part of a hierarchical all-reduce that goes from process to process.
//
// Each process is a group of the algorithm (hierarchical.cpp). When its ring has left a partial sum of every chunk
// on one of its ranks, the segments go through pinned host memory:
//
//   copy      partial segment -> host                            every rank, on its stream `sums`
//   message   slice j of every segment to process j              one host function, on rank 0's stream
//   sum       the slices of all processes, from process 0 to the last, finished: the kernel of all other sums, which
//             reads and writes the pinned memory
//   message   the finished slice to every process              one host function
//   copy      host -> the segment of the output
//
// Ranks join_streams before and after a message. A host function only sends and receives; the streams wait for it as for any
// work, so that a recorded graph contains it, and nothing waits on the caller's thread. When it fails, the process
// group remembers why, all later messages are refused at once, and the results are void.
//
// CUDA may run the host functions of all streams one after another. If two communicators' messages came in
// one order here and in the other order in another process, each process would wait inside the one that the
// other has not begun. So all messages of a process group are chained by events in the order in which they
// were enqueued, which is the same in all processes. Graphs that contain messages are ordered by the caller:
// their replays, and operations that are enqueued directly, must come in the same order in all processes,
// each after the end of the one before.
#pragma once

#include <rondo/collectives/across_hosts/agreement.h>
#include <rondo/collectives/operation_builder.h>
#include <rondo/collectives/algorithms/ring_steps.h>

#include <atomic>
#include <functional>
#include <list>

namespace rondo {

// It must outlive the host functions that were given its messages, and graphs that recorded them: a communicator that
// was aborted leaves its Exchange behind with them, for good, and the process group has to stay as long.
class Exchange {
 public:
  // All processes make theirs at the same time. Throws rondo::Error.
  Exchange(ProcessGroup& group, const Communicator& communicator);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  ProcessGroup& group() { return group_; }
  int64_t communicator() const { return number_; }

  // The tag of what is enqueued next; all its messages carry it. Under the group's turn().
  void begin_operation() { tag_ = group_.next_tag(); }

  // The partial sums of one segment a slot and rank, held(position, slot), become the same segment of the outputs.
  using HeldOf = std::function<ring::Ring::Held(int position, int slot)>;
  Status reduce_across_processes(OperationBuilder& builder, const HeldOf& held, DType dtype, Reduction reduction);

  // Pinned host memory of one process.
  static int64_t pinned_bytes(int processes, int ranks, int64_t slot_bytes);

 private:
  struct Messages;
  Status send_and_receive(OperationBuilder& builder, Messages& messages, const char* what);
  Status wait_for_last_messages(cudaStream_t stream, bool captured);
  Status record_last_messages(cudaStream_t stream, bool captured);
  Messages& new_messages(bool captured);
  std::byte* staged(int position, int slot) const;
  std::byte* received(int position, int slot, int process) const;

  ProcessGroup& group_;
  const int ranks_;
  const int64_t slot_bytes_;
  int64_t number_ = 0;
  int tag_ = 0;
  std::byte* pinned_ = nullptr;
  const std::shared_ptr<Event> sent_, sent_captured_;  // of rank 0's device; see record_last_messages()
  std::list<Messages> messages_;  // what host functions have been given
};

}  // namespace rondo
