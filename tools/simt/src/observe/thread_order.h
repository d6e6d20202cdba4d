// ThreadOrder: which actions of the threads of a cluster happen before which. A block that is in no larger
// cluster is one of its own.
//
// A barrier orders all threads of a block that take part in it, so most of the order is one number per
// thread: how many barriers it has passed. Between two barriers __syncwarp orders the lanes of one warp: each
// thread has a vector clock of the 32 lanes of its warp. Shuffles and votes order nothing. mbarriers and the
// barrier of the cluster (mbarrier_order.h) order threads of different warps and blocks, and mbarriers order
// bulk copies before the threads that wait for them. Fences are in fence_order.h. A fence.proxy.async orders
// what its thread wrote before a wgmma.
//
// Asynchronous operations end when they are waited for. Those of cp.async belong to a thread; a wgmma belongs
// to a warpgroup, and has ended when each of its four warps has waited.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "async_groups.h"
#include "mbarrier_order.h"

namespace simt {

class ThreadOrder {
 public:
  // Threads of block `rank` of the cluster have the numbers from rank * kBlock on.
  static constexpr unsigned kBlock = 1024;
  static unsigned rank_of(unsigned thread) { return thread / kBlock; }

  // When an action of a thread took place.
  struct Time {
    uint32_t barrier;  // barriers of its block that the thread had passed
    uint32_t step;     // one more than the thread's __syncwarps, fences and arrivals at mbarriers; in a block
                       // with mbarriers, barriers count too
  };
  using LaneSteps = std::array<uint32_t, 32>;
  // Numbers of fences (fence_order.h). All up to `acquired` happen before what a thread does now. An atomic
  // publishes the last fence before it, `own`: of its thread, or of another one of its block before a
  // __syncthreads. Another atomic on the same address observes it. With a fence before or after that atomic
  // it is acquired.
  struct Fences {
    uint64_t own = 0, observed = 0, acquired = 0;
    void add(const Fences& other) {
      own = std::max(own, other.own);
      observed = std::max(observed, other.observed);
      acquired = std::max(acquired, other.acquired);
    }
  };

  // `threads`: of each block.
  void start(unsigned blocks, unsigned threads) {
    threads_.resize((blocks - 1) * kBlock + threads);
    known_.resize(threads_.size());
    for (Thread& thread : threads_) {
      thread.barrier = 0;
      thread.step = 1;
      thread.fences = {};
      thread.copies.start();
      thread.products.start();
      thread.proxy_fences.clear();
    }
    for (LaneSteps& known : known_) known.fill(0);
    arrived_.resize(blocks);
    for (std::vector<unsigned>& arrived : arrived_) arrived.clear();
    any_fence_ = false;
    mbarriers_.start(static_cast<unsigned>(threads_.size()));
    if (blocks > 1) mbarriers_.init(kClusterBarrier);
  }

  Time now(unsigned thread) const { return {threads_[thread].barrier, threads_[thread].step}; }

  // Whether what `first` did at `time` happens before what `second` does now, fences aside.
  bool ordered(unsigned first, Time time, unsigned second) const {
    if (first == second) return true;
    // Both have passed the barrier that followed.
    if (time.barrier < threads_[first].barrier && time.barrier < threads_[second].barrier &&
        rank_of(first) == rank_of(second))
      return true;
    if (first / 32 == second / 32 && known_[second][first % 32] >= time.step) return true;
    return mbarriers_.any() && mbarriers_.ordered(first, time.step, second);
  }

  void arrive(unsigned thread) { arrived_[rank_of(thread)].push_back(thread); }
  void end_barrier(unsigned rank) {
    std::vector<unsigned>& arrived = arrived_[rank];
    Fences fences;
    if (any_fence_)
      for (const unsigned thread : arrived) fences.add(threads_[thread].fences);
    for (const unsigned thread : arrived) {
      ++threads_[thread].barrier;
      threads_[thread].fences.add(fences);
    }
    if (mbarriers_.any()) {
      mbarriers_.synchronize(arrived, [&](unsigned thread) { return threads_[thread].step++; });
    }
    arrived.clear();
  }

  void synchronize(unsigned warp, unsigned lanes) {
    LaneSteps all = {};
    Fences fences;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
      const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
      const unsigned thread = 32 * warp + lane;
      for (size_t i = 0; i < 32; ++i) all[i] = std::max(all[i], known_[thread][i]);
      all[lane] = std::max(all[lane], threads_[thread].step);
      fences.add(threads_[thread].fences);
      if (mbarriers_.any()) lanes_.push_back(thread);
    }
    mbarriers_.synchronize(lanes_, [&](unsigned thread) { return threads_[thread].step; });
    lanes_.clear();
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
      const unsigned thread = 32 * warp + static_cast<unsigned>(std::countr_zero(rest));
      known_[thread] = all;
      threads_[thread].fences = fences;
      ++threads_[thread].step;
    }
  }

  // A fence with this number.
  void fence(unsigned thread, uint64_t number) {
    Fences& fences = threads_[thread].fences;
    fences.own = number;
    fences.acquired = std::max(fences.acquired, fences.observed);
    ++threads_[thread].step;
    any_fence_ = true;
  }
  // An atomic at an address that has passed on the fences up to `passed`, as one that reads or writes or
  // both. Returns what the address passes on now.
  uint64_t atomic(unsigned thread, uint64_t passed, bool reads, bool writes) {
    Fences& fences = threads_[thread].fences;
    if (reads) fences.observed = std::max(fences.observed, passed);
    any_fence_ = any_fence_ || passed != 0;
    if (fences.own == 0) return passed;
    fences.acquired = std::max(fences.acquired, fences.observed);
    return writes ? std::max({passed, fences.own, fences.acquired}) : passed;
  }
  // The last fence that happens before what `thread` does now; 0: none.
  uint64_t last_fence(unsigned thread) const { return threads_[thread].fences.acquired; }
  const LaneSteps& known(unsigned thread) const { return known_[thread]; }

  void proxy_fence(unsigned thread) { threads_[thread].proxy_fences.push_back(now(thread)); }
  // Whether a fence.proxy.async is between what `first` wrote at `time` and what `second` does now: of the
  // same thread, or of another one of its block after a barrier.
  bool proxy_fence_between(unsigned first, Time time, unsigned second) const {
    const auto fenced = [&](unsigned thread, const auto& before) {
      const std::vector<Time>& fences = threads_[thread].proxy_fences;
      const auto next = std::partition_point(fences.begin(), fences.end(), before);
      return next != fences.end() && ordered(thread, *next, second);
    };
    if (fenced(first, [&](Time fence) { return fence.step < time.step; })) return true;
    const unsigned begin = rank_of(first) * kBlock;
    for (unsigned thread = begin; thread < std::min<size_t>(begin + kBlock, threads_.size()); ++thread)
      if (fenced(thread, [&](Time fence) { return fence.barrier <= time.barrier; })) return true;
    return false;
  }

  void init_mbarrier(const void* address) { mbarriers_.init(address); }
  void arrive(const void* mbarrier, unsigned thread) {
    mbarriers_.arrive(mbarrier, thread, threads_[thread].step++, threads_[thread].fences.acquired);
  }
  void arrive_relaxed(const void* mbarrier, unsigned thread) {
    const Fences& fences = threads_[thread].fences;
    mbarriers_.arrive_relaxed(mbarrier, thread, threads_[thread].products.finished(),
                              fences.own == 0 ? 0 : std::max(fences.own, fences.acquired));
  }
  void complete(const void* mbarrier) { mbarriers_.complete(mbarrier); }
  void waited(const void* mbarrier, unsigned thread) {
    uint64_t& acquired = threads_[thread].fences.acquired;
    acquired = std::max(acquired, mbarriers_.waited(mbarrier, thread));
  }
  const MbarrierOrder& mbarriers() const { return mbarriers_; }

  // The barrier of the cluster: a thread arrives, all have arrived, a thread has waited.
  void arrive_at_cluster_barrier(unsigned thread) {
    if (!mbarriers_.has(kClusterBarrier)) mbarriers_.init(kClusterBarrier);  // of one block
    arrive(kClusterBarrier, thread);
  }
  void complete_cluster_barrier() { complete(kClusterBarrier); }
  void waited_for_cluster(unsigned thread) { waited(kClusterBarrier, thread); }
  // Whether a thread knows that block `rank`, another one, has started.
  bool knows_start(unsigned thread, unsigned rank) const {
    return mbarriers_.knows_any(thread, rank * kBlock, (rank + 1) * kBlock);
  }

  using Groups = AsyncGroups<Time>;
  Groups& copies(unsigned thread) { return threads_[thread].copies; }  // cp.async
  const Groups& copies(unsigned thread) const { return threads_[thread].copies; }
  Groups& products(unsigned thread) { return threads_[thread].products; }  // wgmma

  // Whether a warp has waited for a group of its warpgroup's products.
  bool product_finished(unsigned warp, uint32_t group) const {
    return any_lane(warp, [&](unsigned thread) { return threads_[thread].products.finished(group); });
  }
  // Whether every warp of the warpgroup that begins with thread `leader` has, before what `second` does now.
  bool product_ordered(unsigned leader, uint32_t group, unsigned second) const {
    bool all = true;
    for (unsigned warp = leader / 32; warp < leader / 32 + 4; ++warp)
      all = all && any_lane(warp, [&](unsigned thread) {
              const Groups& products = threads_[thread].products;
              return products.finished(group) && (ordered(thread, products.time_of_wait(group), second) ||
                                                  mbarriers_.knows_product(second, thread, group));
            });
    return all;
  }

 private:
  static constexpr const void* kClusterBarrier = nullptr;  // the address of no mbarrier

  struct Thread {
    uint32_t barrier;
    uint32_t step;
    Fences fences;
    Groups copies, products;
    std::vector<Time> proxy_fences;
  };

  template <class F>
  static bool any_lane(unsigned warp, F f) {
    for (unsigned thread = 32 * warp; thread < 32 * warp + 32; ++thread)
      if (f(thread)) return true;
    return false;
  }

  std::vector<Thread> threads_;
  std::vector<LaneSteps> known_;  // by thread: the steps of its warp's lanes that happen before it
  std::vector<std::vector<unsigned>> arrived_;  // by block: at its barrier
  std::vector<unsigned> lanes_;                 // that synchronize
  MbarrierOrder mbarriers_;
  bool any_fence_ = false;
};

}  // namespace simt
