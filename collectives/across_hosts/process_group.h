// ProcessGroup: the processes, on one host or many, that run the same program and exchange messages. What carries
// the messages is not known here; mpi_process_group.h has the one that there is.
#pragma once

#include <rondo/kernels/core/status.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace rondo {

class Event;

// It must outlive what uses it: communicators, recorded graphs, and work that is left behind. After a failure there may
// be host functions on streams, and buffers of messages, that still refer to it when their communicator has gone: end
// the process then, or keep the group until all streams are idle.
//
// All processes must make the same calls in the same order. What goes wrong is told by a Status and remembered: once
// a process did not come, state() says so, and every further call is refused with it at once.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual int size() const = 0;
  virtual int index() const = 0;  // of this process, from 0
  // "process 2 (pid 4711 on host b)"
  virtual std::string name(int process) const = 0;
  virtual std::string host(int process) const = 0;

  struct Message {
    int process;  // to or from which; another one than this
    void*
        data;  // host memory. When the exchange fails, what was large and on its way may still be written to
    int64_t bytes;
  };
  static constexpr int kTags = 32000;

  // Sends and receives all of these; blocks until they are done. What one process sends to another with a tag is
  // received there in the same order. Several threads may be in exchanges with different tags (0 <= tag < kTags).
  // timed_out when nothing arrived for the group's timeout, and names who is missing; `what` is what it is for.
  virtual Status exchange(std::span<const Message> sends, std::span<const Message> receives, int tag,
                          const std::string& what) = 0;

  virtual Status state() const = 0;

  // Ends all processes at once with this exit code: for a process that can't go on, and that others wait for.
  [[noreturn]] virtual void abort(int exit_code) = 0;

  // Held by whoever makes several calls that must not be torn apart by another thread's.
  std::mutex& turn() { return turn_; }
  // Counts up; the same everywhere, since all processes make the same calls. Under turn().
  int next_tag() { return 1 + static_cast<int>(tags_++ % (kTags - 1)); }

  // The end of the messages that were put on streams last, whoever did it (exchange.cpp). Under turn().
  struct LastMessages {
    std::shared_ptr<Event> event;    // null: none yet
    unsigned long long capture = 0;  // the id of the capture that has recorded it
  };
  LastMessages& last_messages(bool captured) { return captured ? last_captured_ : last_; }

 private:
  std::mutex turn_;
  LastMessages last_, last_captured_;
  uint64_t tags_ = 0;
};

}  // namespace rondo
