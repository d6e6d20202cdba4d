// AsyncGroups: the groups of cp.async, or of wgmma, of one thread. They finish in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace simt {

template <class Time>
class AsyncGroups {
 public:
  void start() {
    committed_ = finished_ = 0;
    waits_.clear();
  }
  uint32_t open() const { return committed_; }  // the group of an operation that is issued now
  void commit() { ++committed_; }

  // The thread has waited until only `pending` groups are left.
  void wait(int pending, Time now) {
    if (committed_ <= static_cast<uint32_t>(pending)) return;
    const uint32_t finished = committed_ - static_cast<uint32_t>(pending);
    if (finished <= finished_) return;
    finished_ = finished;
    waits_.push_back({finished, now});
  }
  bool finished(uint32_t group) const { return group < finished_; }
  uint32_t finished() const { return finished_; }  // groups

  // When the thread waited for a finished group.
  Time time_of_wait(uint32_t group) const {
    return std::upper_bound(waits_.begin(), waits_.end(), group,
                            [](uint32_t g, const Wait& wait) { return g < wait.finished; })
        ->time;
  }

 private:
  struct Wait {
    uint32_t finished;  // groups
    Time time;
  };
  uint32_t committed_ = 0, finished_ = 0;
  std::vector<Wait> waits_;
};

}  // namespace simt
