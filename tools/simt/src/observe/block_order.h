// BlockOrder: which actions of the threads of a block happen before which.
//
// A barrier orders all threads that take part in it, so most of the order is one number per thread: how many
// barriers it has passed. Between two barriers only __syncwarp orders, and only lanes of one warp: each
// thread has a vector clock of the 32 lanes of its warp. Shuffles and votes order nothing. Fences are in
// fence_order.h, asynchronous copies in the second part of this file.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace simt {

class BlockOrder {
 public:
  // When an action of a thread took place.
  struct Time {
    uint32_t barrier;  // barriers that the thread had passed
    uint32_t step;     // of the thread: __syncwarps and fences that it had passed, plus one
  };
  using LaneSteps = std::array<uint32_t, 32>;

  void start(unsigned threads) {
    threads_.resize(threads);
    known_.resize(threads);
    for (unsigned i = 0; i < threads; ++i) {
      Thread& thread = threads_[i];
      thread.barrier = 0;
      thread.step = 1;
      thread.fence = 0;
      thread.groups = thread.groups_done = 0;
      thread.waits.clear();
    }
    for (LaneSteps& known : known_) known.fill(0);
    arrived_.clear();
    any_fence_ = false;
  }

  Time now(unsigned thread) const { return {threads_[thread].barrier, threads_[thread].step}; }

  // Whether what `first` did at `time` happens before what `second` does now, fences aside.
  bool ordered(unsigned first, Time time, unsigned second) const {
    if (first == second) return true;
    // Both have passed the barrier that followed.
    if (time.barrier < threads_[first].barrier && time.barrier < threads_[second].barrier) return true;
    return first / 32 == second / 32 && known_[second][first % 32] >= time.step;
  }

  void arrive(unsigned thread) { arrived_.push_back(thread); }
  void end_barrier() {
    uint64_t fence = 0;
    if (any_fence_)
      for (const unsigned thread : arrived_) fence = std::max(fence, threads_[thread].fence);
    for (const unsigned thread : arrived_) {
      ++threads_[thread].barrier;
      threads_[thread].fence = std::max(threads_[thread].fence, fence);
    }
    arrived_.clear();
  }

  void synchronize(unsigned warp, unsigned lanes) {
    LaneSteps all = {};
    uint64_t fence = 0;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
      const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
      const unsigned thread = 32 * warp + lane;
      for (size_t i = 0; i < 32; ++i) all[i] = std::max(all[i], known_[thread][i]);
      all[lane] = std::max(all[lane], threads_[thread].step);
      fence = std::max(fence, threads_[thread].fence);
    }
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
      const unsigned thread = 32 * warp + static_cast<unsigned>(std::countr_zero(rest));
      known_[thread] = all;
      threads_[thread].fence = fence;
      ++threads_[thread].step;
    }
  }

  // A fence with this number. What the thread does next happens after it.
  void fence(unsigned thread, uint64_t number) {
    threads_[thread].fence = number;
    ++threads_[thread].step;
    any_fence_ = true;
  }
  // The last fence that happens before what `thread` does now; 0: none.
  uint64_t last_fence(unsigned thread) const { return threads_[thread].fence; }
  const LaneSteps& known(unsigned thread) const { return known_[thread]; }

  // cp.async: the copies of a thread belong to numbered groups, which end in this order.
  uint32_t open_group(unsigned thread) const { return threads_[thread].groups; }
  void commit(unsigned thread) { ++threads_[thread].groups; }
  void wait(unsigned thread, int pending) {
    Thread& waiting = threads_[thread];
    if (waiting.groups <= static_cast<uint32_t>(pending)) return;
    const uint32_t done = waiting.groups - static_cast<uint32_t>(pending);
    if (done <= waiting.groups_done) return;
    waiting.groups_done = done;
    waiting.waits.push_back({done, now(thread)});
  }
  bool finished(unsigned thread, uint32_t group) const { return group < threads_[thread].groups_done; }
  // When `thread` waited for a finished group.
  Time waited(unsigned thread, uint32_t group) const {
    const std::vector<Wait>& waits = threads_[thread].waits;
    return std::upper_bound(waits.begin(), waits.end(), group,
                            [](uint32_t g, const Wait& wait) { return g < wait.groups_done; })
        ->time;
  }

 private:
  struct Wait {
    uint32_t groups_done;
    Time time;
  };
  struct Thread {
    uint32_t barrier;
    uint32_t step;
    uint64_t fence;
    uint32_t groups, groups_done;
    std::vector<Wait> waits;
  };
  std::vector<Thread> threads_;
  std::vector<LaneSteps> known_;   // by thread: the steps of its warp's lanes that happen before it
  std::vector<unsigned> arrived_;  // at the barrier
  bool any_fence_ = false;
};

}  // namespace simt
