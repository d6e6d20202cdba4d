// FenceOrder: the order that __threadfence creates between the threads of one launch.
//
// The pattern "write, fence, atomic" against "atomic, fence, read", or "fence, atomic, read", orders its two
// sides if both atomics are on the same address. A fence that the second atomic sees comes after all fences
// that ran before it: of these, which one it really follows is not tracked.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "thread_order.h"

namespace simt {

class FenceOrder {
 public:
  bool any() const { return !clusters_.empty(); }

  // A fence of a thread now, for other blocks too or only for its own. Fences are numbered in the order in
  // which they ran.
  void add(uint64_t number, uint64_t cluster, unsigned thread, const ThreadOrder& threads,
           bool for_all_blocks) {
    Fence fence{number, thread, threads.now(thread), threads.known(thread), {}, for_all_blocks};
    // Not of those for one block, which are many: wgmma needs them.
    if (for_all_blocks && threads.mbarriers().any()) fence.clock = threads.mbarriers().clock(thread);
    clusters_[cluster].push_back(std::move(fence));
  }

  // Whether what a thread did at `time` happens before the fence `last`, as its own block or others see it.
  bool ordered(uint64_t cluster, unsigned thread, ThreadOrder::Time time, uint64_t last,
               bool own_block) const {
    const auto found = clusters_.find(cluster);
    if (found == clusters_.end()) return false;
    for (auto fence = found->second.rbegin(); fence != found->second.rend(); ++fence)
      if (fence->number <= last && (own_block || fence->for_all_blocks) && comes_after(*fence, thread, time))
        return true;
    return false;
  }

 private:
  struct Fence {
    uint64_t number;
    unsigned thread;
    ThreadOrder::Time time;
    ThreadOrder::LaneSteps known;
    MbarrierOrder::Clock clock;
    bool for_all_blocks;
  };

  static bool comes_after(const Fence& fence, unsigned thread, ThreadOrder::Time time) {
    const bool same_block = ThreadOrder::rank_of(fence.thread) == ThreadOrder::rank_of(thread);
    if (same_block && fence.time.barrier > time.barrier) return true;
    if (fence.thread == thread) return fence.time.step >= time.step;
    if (fence.thread / 32 == thread / 32 && fence.known[thread % 32] >= time.step) return true;
    return MbarrierOrder::knows(fence.clock, thread, time.step);
  }

  std::unordered_map<uint64_t, std::vector<Fence>> clusters_;
};

}  // namespace simt
