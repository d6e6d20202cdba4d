// OperationTracker: how far every rank has come in the operations that are not done, so that a timeout can name who is missing.
//
// Nothing is put on the streams for that: an operation needs three events on each rank anyway, one where the rank comes
// to it and two behind its last work. Here every operation gets a set of its own. The sets are made once; one is used
// again when its operation is done. While kFollowed operations are in flight, more of them share one further set: of
// those only the last is known.
#pragma once

#include <rondo/kernels/runtime/buffer.h>

#include <cstdint>
#include <vector>

namespace rondo {

class OperationTracker {
 public:
  static constexpr size_t kFollowed = 64;

  struct Operation {
    // Of one rank.
    struct Marks {
      Event entered;   // the rank has come to the operation
      Event finished;  // it has done what it computes
      Event copied;    // it has sent what it sends
    };
    std::vector<Marks> ranks;
    const char* name = nullptr;
    int64_t number = -1;  // of all that were enqueued, from 0; -1: none yet
    // Steps that it takes of one ring. Equal: none, or of several.
    int first_step = 0, last_step = 0;
    bool follows_unknown = false;  // the one before has no events of its own
  };

  OperationTracker() = default;  // of no ranks
  // Rank r is on devices[r]. Throws rondo::Error.
  explicit OperationTracker(const std::vector<int>& devices);

  // The operation that is enqueued next. One that is captured does not count: it runs when a graph is launched.
  Operation& begin(const char* name, bool captured);

  // The first operation that is not done; null where all are.
  const Operation* first_open() const;
  // How many were enqueued after `operation`.
  int64_t behind(const Operation& operation) const { return count_ - 1 - operation.number; }
  bool captured_any() const { return captured_.number >= 0; }

 private:
  std::vector<Operation> followed_;
  Operation overflow_, captured_;
  size_t next_ = 0;  // of followed_: the oldest
  int64_t count_ = 0;
  bool overflowed_ = false;  // the last one
};

// Whether everything before the event's last record is done. Leaves no error behind, and may be asked while a stream is
// captured.
bool is_over(cudaEvent_t event);

}  // namespace rondo
