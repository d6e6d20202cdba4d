// MbarrierOrder: which actions of the threads of a cluster happen before which, by its mbarriers and by the
// barrier of the cluster, which is one more of them.
//
// An arrival releases what its thread has done and what it knows of others. A relaxed one releases only what
// came before the thread's last fence, and the products (wgmma) that it has waited for. A wait acquires what
// all arrivals up to its phase released, and the phase's bulk copies. Each thread therefore has a vector
// clock: for every thread of the cluster the step up to which its actions are known, and for every mbarrier
// the number of phases whose copies are known. A block without mbarriers that is in no larger cluster has no
// clocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace simt {

class MbarrierOrder {
 public:
  struct Clock {                     // missing entries are 0
    std::vector<uint32_t> steps;     // by thread, then by mbarrier
    std::vector<uint32_t> products;  // by thread: groups that have finished, and that it released as such
  };

  void start(unsigned threads) {
    threads_ = threads;
    clocks_.clear();
    barriers_.clear();
  }
  bool any() const { return !barriers_.empty(); }

  void init(const void* address) {
    clocks_.resize(threads_);
    if (!has(address)) barriers_.push_back({address, 0, {}, {}, 0, 0});
    Mbarrier& barrier = barriers_[index_of(address)];  // its phases go on if it is initialized again
    barrier = {address, barrier.phases, {}, {}, 0, 0};
  }
  bool has(const void* address) const { return index_of(address) < barriers_.size(); }
  uint32_t index_of(const void* address) const {
    uint32_t index = 0;
    while (index < barriers_.size() && barriers_[index].address != address) ++index;
    return index;
  }

  // `thread` arrives, and has done everything up to `step`. `fence`: the last one that happens before.
  void arrive(const void* address, unsigned thread, uint32_t step, uint64_t fence) {
    Mbarrier& barrier = barriers_[index_of(address)];
    join(barrier.arrived, clocks_[thread]);
    raise(barrier.arrived.steps, thread, step);
    barrier.arrived_fence = std::max(barrier.arrived_fence, fence);
  }
  // `products`: groups of its products that have finished.
  void arrive_relaxed(const void* address, unsigned thread, uint32_t products, uint64_t fence) {
    Mbarrier& barrier = barriers_[index_of(address)];
    raise(barrier.arrived.products, thread, products);
    barrier.arrived_fence = std::max(barrier.arrived_fence, fence);
  }
  void complete(const void* address) {
    const uint32_t index = index_of(address);
    Mbarrier& barrier = barriers_[index];
    ++barrier.phases;
    join(barrier.completed, barrier.arrived);
    raise(barrier.completed.steps, threads_ + index, barrier.phases);
    barrier.completed_fence = std::max(barrier.completed_fence, barrier.arrived_fence);
  }
  // Returns the last fence that happens before the arrivals.
  uint64_t waited(const void* address, unsigned thread) {
    const Mbarrier& barrier = barriers_[index_of(address)];
    join(clocks_[thread], barrier.completed);
    return barrier.completed_fence;
  }

  // A bulk copy that is issued now, or an arrival, belongs to this phase of the mbarrier `index`, counted
  // from 1.
  uint32_t phase(uint32_t index) const { return barriers_[index].phases + 1; }
  bool has_completed(uint32_t index, uint32_t phase) const { return barriers_[index].phases >= phase; }
  bool knows_phase(unsigned thread, uint32_t index, uint32_t phase) const {
    return at(clocks_[thread].steps, threads_ + index) >= phase;
  }
  // Whether `second` knows what `first` did in its step `step`.
  bool ordered(unsigned first, uint32_t step, unsigned second) const {
    return knows(clocks_[second], first, step);
  }
  bool knows_product(unsigned thread, unsigned first, uint32_t group) const {
    return at(clocks_[thread].products, first) > group;
  }
  // Whether `thread` knows of an action of the threads from `begin` to `end`.
  bool knows_any(unsigned thread, unsigned begin, unsigned end) const {
    const Numbers& steps = clocks_[thread].steps;
    for (size_t i = begin; i < std::min<size_t>({end, threads_, steps.size()}); ++i)
      if (steps[i] != 0) return true;
    return false;
  }
  const Clock& clock(unsigned thread) const { return clocks_[thread]; }
  static bool knows(const Clock& clock, unsigned thread, uint32_t step) {
    return at(clock.steps, thread) >= step;
  }

  // Threads that have met at a barrier know what each of them did and knew. `step` returns a thread's step.
  template <class Threads, class Step>
  void synchronize(const Threads& threads, Step step) {
    Clock all;
    for (const unsigned thread : threads) {
      join(all, clocks_[thread]);
      raise(all.steps, thread, step(thread));
    }
    for (const unsigned thread : threads) clocks_[thread] = all;
  }

 private:
  using Numbers = std::vector<uint32_t>;
  struct Mbarrier {
    const void* address;
    uint32_t phases;  // that have completed
    Clock arrived;    // of all arrivals
    Clock completed;  // of those up to the last completed phase, and its copies
    uint64_t arrived_fence, completed_fence;  // the last that an arrival releases (fence_order.h); 0: none
  };

  static uint32_t at(const Numbers& numbers, size_t index) {
    return index < numbers.size() ? numbers[index] : 0;
  }
  static void raise(Numbers& numbers, size_t index, uint32_t value) {
    if (index >= numbers.size()) numbers.resize(index + 1);
    numbers[index] = std::max(numbers[index], value);
  }
  static void join(Numbers& to, const Numbers& from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
  }
  static void join(Clock& to, const Clock& from) {
    join(to.steps, from.steps);
    join(to.products, from.products);
  }

  unsigned threads_ = 0;
  std::vector<Clock> clocks_;  // by thread
  std::vector<Mbarrier> barriers_;
};

}  // namespace simt
