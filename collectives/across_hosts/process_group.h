// ProcessGroup: an abstract group of processes, on one host or many, that run the same program and exchange
// messages. mpi_process_group.h has the MPI implementation.
#pragma once

#include <rondo/kernels/core/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

namespace rondo {

class Event;

// A group must outlive all its users: communicators, captured graphs and work in progress. After a failure,
// host functions and message buffers may still refer to it after their communicator is destroyed. Then end
// the process, or keep the group until all streams are idle.
//
// All processes must make the same calls in the same order. Errors are returned as Status and stored: after a
// process was missing, state() returns the error and every further call returns it at once.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual int size() const = 0;
  virtual int index() const = 0;  // index of this process, from 0
  // "process 2 (pid 4711 on host b)"
  virtual std::string name(int process) const = 0;
  virtual std::string host(int process) const = 0;

  struct Message {
    int process;  // source or destination; not this process
    void* data;   // host memory. After a failed exchange, large messages in transit may still write to it
    int64_t bytes;
  };
  static constexpr int kTags = 32000;

  // Sends and receives all messages; blocks until they are done. Messages between two processes with the same
  // tag arrive in order. Several threads may call exchange() with different tags (0 <= tag < kTags). Returns
  // timed_out if nothing arrived for the group's timeout; the message names the missing processes. `what`:
  // the purpose, for error messages. Not for host functions: an implementation may call CUDA.
  virtual Status exchange(std::span<const Message> sends, std::span<const Message> receives, int tag,
                          const std::string& what) = 0;

  virtual Status state() const = 0;

  // Ends all processes at once with this exit code: for a process that cannot continue while others wait for
  // it.
  [[noreturn]] virtual void abort(int exit_code) = 0;

  // Serialises sequences of several calls.
  std::mutex& call_mutex() { return call_mutex_; }
  // A counter. It is the same everywhere, since all processes make the same calls. The caller holds
  // call_mutex().
  int next_tag() { return 1 + static_cast<int>(tags_++ % (kTags - 1)); }

  // The number of calls of next_tag() until now. The caller holds call_mutex().
  uint64_t tags() const { return tags_; }

  // In this scope this process makes the collective calls of a recording again, while the others replay
  // their recordings. The calls take the tags that the recorded calls took, from number `first_tag` on, and
  // do not wait for an agreement of the processes.
  class Repetition {
   public:
    Repetition(ProcessGroup& group, uint64_t first_tag) : group_(group) {
      const std::lock_guard lock(group_.call_mutex_);
      tags_ = std::exchange(group_.tags_, first_tag);
      group_.repeats_ = true;
    }
    ~Repetition() {
      const std::lock_guard lock(group_.call_mutex_);
      group_.tags_ = tags_;
      group_.repeats_ = false;
    }
    Repetition(const Repetition&) = delete;
    Repetition& operator=(const Repetition&) = delete;

   private:
    ProcessGroup& group_;
    uint64_t tags_ = 0;
  };
  // Whether there is a Repetition. The caller holds call_mutex().
  bool repeats() const { return repeats_; }

  // The messages that were enqueued last, on any stream (exchange.cpp). The caller holds call_mutex().
  struct LastMessages {
    std::shared_ptr<Event> event;    // at their end; null: no messages yet
    unsigned long long capture = 0;  // id of the capture in which it was recorded
  };
  LastMessages& last_messages(bool captured) { return captured ? last_captured_ : last_; }

 private:
  std::mutex call_mutex_;
  LastMessages last_, last_captured_;
  uint64_t tags_ = 0;
  bool repeats_ = false;
};

}  // namespace rondo
