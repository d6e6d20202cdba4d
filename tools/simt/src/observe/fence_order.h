// FenceOrder: the order that __threadfence creates between the threads of one launch.
//
// The pattern "write, fence, atomic" against "atomic, fence, read", or "fence, atomic, read", orders its two
// sides if both atomics are on the same address. A fence that the second atomic sees comes after all fences
// that ran before it: of these, which one it really follows is not tracked.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "block_order.h"

namespace simt {

class FenceOrder {
 public:
  bool any() const { return !blocks_.empty(); }

  // A fence of a thread at `time`, for other blocks too or only for its own. Fences are numbered in the order
  // in which they ran.
  void add(uint64_t number, uint64_t block, unsigned thread, BlockOrder::Time time,
           const BlockOrder::LaneSteps& known, bool for_all_blocks) {
    blocks_[block].push_back({number, thread, time, known, for_all_blocks});
  }

  // Whether what a thread did at `time` happens before the fence `last`, as its own block or others see it.
  bool ordered(uint64_t block, unsigned thread, BlockOrder::Time time, uint64_t last, bool own_block) const {
    const auto found = blocks_.find(block);
    if (found == blocks_.end()) return false;
    for (auto fence = found->second.rbegin(); fence != found->second.rend(); ++fence)
      if (fence->number <= last && (own_block || fence->for_all_blocks) && comes_after(*fence, thread, time))
        return true;
    return false;
  }

 private:
  struct Fence {
    uint64_t number;
    unsigned thread;
    BlockOrder::Time time;
    BlockOrder::LaneSteps known;
    bool for_all_blocks;
  };

  static bool comes_after(const Fence& fence, unsigned thread, BlockOrder::Time time) {
    if (fence.time.barrier > time.barrier) return true;
    if (fence.thread == thread) return fence.time.step >= time.step;
    return fence.thread / 32 == thread / 32 && fence.known[thread % 32] >= time.step;
  }

  std::unordered_map<uint64_t, std::vector<Fence>> blocks_;
};

}  // namespace simt
