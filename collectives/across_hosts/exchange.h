// Exchange: the part of a hierarchical all-reduce that sends messages between processes.
//
// Each process is a group of the algorithm (hierarchical.cpp). When the ring of a process has left a partial
// sum of each chunk on one of its ranks, the segments go through pinned host memory:
//
//   copy      partial segment -> host                            every rank, on its stream `sums`
//   message   slice j of every segment to process j              one host function, on rank 0's stream
//   sum       adds the slices of all processes, from process 0 to the last, and finishes them, with the same
//             kernel as all sums (reduce_vectors()), which reads and writes the pinned memory
//   message   the finished slice to every process                one host function
//   copy      host -> the segment of the output
//
// A barrier of the ranks precedes and follows each message. The streams wait for the host function as for
// any other work, so a captured graph contains it and the caller's thread does not wait. A host function must
// not call CUDA, and an MPI implementation may: a CUDA-aware one asks CUDA about each buffer. Therefore a
// thread of the Exchange sends and receives, and the host function waits for it. If it fails, the process
// group stores the reason, all later messages are refused at once, and the results are invalid.
//
// CUDA may run the host functions of all streams one after another. If two communicators' messages ran in one
// order in one process and in the other order in another, each process would wait inside the message that the
// other has not started. Therefore events chain all messages of a process group in the order in which they
// were enqueued, which is the same in all processes. The caller orders graphs that contain messages: their
// replays and directly enqueued operations must run in the same order in all processes, each after the end of
// the previous one.
#pragma once

#include <rondo/collectives/across_hosts/agreement.h>
#include <rondo/collectives/algorithms/ring_steps.h>
#include <rondo/collectives/operation_builder.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace rondo {

// An Exchange must outlive the host functions that use its messages and the graphs that recorded them. An
// aborted communicator leaks its Exchange on purpose, so the process group must also stay alive.
class Exchange {
 public:
  // Throws bad_argument if there are too many processes, or if a slot is too large for a message. Before the
  // communicator's memory is allocated.
  static void check(const ProcessGroup& group, int64_t slot_bytes);
  // All processes must construct it at the same time. Throws rondo::Error.
  Exchange(ProcessGroup& group, const Communicator& communicator);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  ProcessGroup& group() { return group_; }
  int64_t communicator() const { return number_; }

  // Sets the tag of all messages of the next operation. The caller holds the group's call_mutex().
  void begin_operation() { tag_ = group_.next_tag(); }

  // Adds the partial sums of all processes and writes the finished sums to the outputs. segment_at(position,
  // slot) is one segment per rank and slot.
  using SegmentAt = std::function<ring::Ring::PartialSegment(int position, int slot)>;
  Status reduce_across_processes(OperationBuilder& builder, const SegmentAt& segment_at, DType dtype,
                                 Reduction reduction);

  // Bytes of pinned host memory in each process.
  static int64_t pinned_bytes(int processes, int ranks, int64_t slot_bytes);

 private:
  struct Messages;
  void deliver(Messages& messages);
  void deliver_until_ended(int device);
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
  const std::shared_ptr<Event> sent_, sent_captured_;  // on rank 0's device; see record_last_messages()
  std::list<Messages> messages_;                       // in use by host functions

  std::mutex delivering_;  // held by a host function for the time of its messages
  std::mutex mutex_;       // protects next_ and ended_
  std::condition_variable changed_;
  Messages* next_ = nullptr;  // to be delivered by thread_, which sets null when it has done so
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace rondo
