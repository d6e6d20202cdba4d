// OperationTracker: records how far each rank has come in unfinished operations, so that the message of a
// timeout can name the missing ranks.
//
// It adds no work to the streams: an operation needs three events per rank anyway, one at its beginning and
// two after its last work. The tracker gives each operation in flight its own set of events. The sets are
// allocated once and reused when their operation is done. If kTracked operations are in flight, further ones
// share one more set, which describes only the last of them.
#pragma once

#include <rondo/kernels/core/indexed.h>
#include <rondo/kernels/runtime/buffer.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rondo {

class OperationTracker {
 public:
  static constexpr size_t kTracked = 64;

  struct Operation {
    // The events of one rank.
    struct RankEvents {
      Event entered;   // the rank has arrived at the operation
      Event finished;  // the rank has completed its computation
      Event copied;    // the rank has completed its sends
    };
    PerRank<RankEvents> ranks;
    const char* name = nullptr;
    int64_t number = -1;  // counts all enqueued operations from 0; -1: the set is unused
    // The operation's steps of one ring. Equal if it has none or consists of several rings.
    int first_step = 0, last_step = 0;
    bool follows_unknown = false;  // the previous operation has no events of its own
  };

  // Rank r is on devices[r]. Throws rondo::Error.
  explicit OperationTracker(std::span<const int> devices);

  // The events for the next operation. A captured operation is not counted: it runs when a graph is launched.
  Operation& begin(const char* name, bool captured);

  // The first unfinished operation; null if all are done. Needs a RelaxedCaptureScope.
  const Operation* first_unfinished() const;
  // The number of operations after `operation`.
  int64_t enqueued_after(const Operation& operation) const { return count_ - 1 - operation.number; }
  bool captured_any() const { return captured_.number >= 0; }

 private:
  std::vector<Operation> tracked_;
  Operation overflow_, captured_;
  size_t next_ = 0;  // index of the oldest in tracked_
  int64_t count_ = 0;
  bool overflowed_ = false;  // whether the last operation used overflow_
};

// Whether all work before the event's last record is done. Leaves no CUDA error behind. Needs a
// RelaxedCaptureScope, because another thread may be capturing.
bool is_complete(cudaEvent_t event);

}  // namespace rondo
