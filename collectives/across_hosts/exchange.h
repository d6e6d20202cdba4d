// Exchange: sends and receives messages between processes as work on a stream, for one communicator.
//
// A host function on the stream sends and receives. A host function must not call CUDA, and an MPI
// implementation may: a CUDA-aware one asks CUDA about each buffer. Therefore a thread of the Exchange sends
// and receives, and the host function waits for it. If it fails, the process group stores the reason, all
// later messages are refused at once, and the results are invalid.
//
// CUDA may run the host functions of all streams one after another. If two communicators' messages ran in one
// order in one process and in the other order in another, each process would wait inside the message that the
// other has not started. Therefore events chain all messages of a process group in the order in which they
// were enqueued, which is the same in all processes. The caller orders graphs that contain messages: their
// replays and directly enqueued operations must run in the same order in all processes, each after the end of
// the previous one.
#pragma once

#include <rondo/collectives/across_hosts/agreement.h>
#include <rondo/kernels/runtime/pinned_memory.h>
#include <rondo/kernels/runtime/trace.h>

#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

namespace rondo {

// An Exchange must outlive the host functions that use its messages and the graphs that recorded them. An
// aborted communicator leaks its Exchange on purpose, so the process group must also stay alive.
class Exchange {
 public:
  // `device`: of the streams. All processes must construct it at the same time. Throws rondo::Error.
  Exchange(ProcessGroup& group, const Layout& layout, int device);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  ProcessGroup& group() { return group_; }
  // The communicator's number, the same in all processes.
  int64_t communicator() const { return number_; }

  // Sets the tag of all messages of the next operation. The caller holds the group's call_mutex().
  void begin_operation() { tag_ = group_.next_tag(); }

  // Pinned host memory, which kernels can access. staged(): a segment of the rank at `position`, in `slot`.
  // received(): the slice of this segment that `process` has sent.
  std::byte* staged(int position, int slot) const;
  std::byte* received(int position, int slot, int process) const;

  struct Messages {
    const char* operation;  // for errors
    const char* what;       // for errors, and the name in the trace
    std::vector<ProcessGroup::Message> sends = {}, receives = {};
  };
  // Enqueues the messages on `stream`, which belongs to the current device. `captured`: it is being captured.
  Status enqueue(Messages messages, cudaStream_t stream, bool captured, Trace* trace);

 private:
  struct Delivery;
  void deliver(Delivery& delivery);
  void deliver_until_ended(int device);
  Status wait_for_last_messages(cudaStream_t stream, bool captured);
  Status record_last_messages(cudaStream_t stream, bool captured);

  ProcessGroup& group_;
  const Layout layout_;
  int64_t number_ = 0;
  int tag_ = 0;
  PinnedMemory pinned_;
  const std::shared_ptr<Event> sent_, sent_captured_;  // see record_last_messages()
  std::list<Delivery> deliveries_;                     // in use by host functions

  std::mutex delivering_;  // held by a host function while it waits for its messages
  std::mutex mutex_;       // protects next_ and ended_
  std::condition_variable changed_;
  Delivery* next_ = nullptr;  // to be delivered by thread_, which sets null when it has done so
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace rondo
