// MbarrierOrder: which actions of the threads of a block happen before which, by its mbarriers.
//
// An arrival releases what its thread has done and what it knows of others. A wait acquires what all arrivals
// up to its phase released, and the phase's bulk copies. Each thread therefore has a vector clock: for every
// thread of the block the step up to which its actions are known, and for every mbarrier the number of phases
// whose copies are known. A block without mbarriers has no clocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace simt {

class MbarrierOrder {
 public:
  void start(unsigned threads) {
    threads_ = threads;
    clocks_.clear();
    barriers_.clear();
  }
  bool any() const { return !barriers_.empty(); }

  void init(const void* address) {
    clocks_.resize(threads_);
    if (!has(address)) barriers_.push_back({address, 0, {}, {}});
    Mbarrier& barrier = barriers_[index_of(address)];  // its phases go on if it is initialized again
    barrier.arrived.clear();
    barrier.completed.clear();
  }
  bool has(const void* address) const { return index_of(address) < barriers_.size(); }
  uint32_t index_of(const void* address) const {
    uint32_t index = 0;
    while (index < barriers_.size() && barriers_[index].address != address) ++index;
    return index;
  }

  // `thread` arrives, and has done everything up to `step`.
  void arrive(const void* address, unsigned thread, uint32_t step) {
    Mbarrier& barrier = barriers_[index_of(address)];
    join(barrier.arrived, clocks_[thread]);
    raise(barrier.arrived, thread, step);
  }
  void complete(const void* address) {
    const uint32_t index = index_of(address);
    Mbarrier& barrier = barriers_[index];
    ++barrier.phases;
    join(barrier.completed, barrier.arrived);
    raise(barrier.completed, threads_ + index, barrier.phases);
  }
  void waited(const void* address, unsigned thread) {
    join(clocks_[thread], barriers_[index_of(address)].completed);
  }

  // A bulk copy that is issued now finishes with this phase, counted from 1, of the mbarrier `index`.
  uint32_t phase_of_copy(uint32_t index) const { return barriers_[index].phases + 1; }
  bool copy_finished(uint32_t index, uint32_t phase) const { return barriers_[index].phases >= phase; }
  bool knows_copy(unsigned thread, uint32_t index, uint32_t phase) const {
    return at(clocks_[thread], threads_ + index) >= phase;
  }
  // Whether `second` knows what `first` did in its step `step`.
  bool ordered(unsigned first, uint32_t step, unsigned second) const {
    return at(clocks_[second], first) >= step;
  }

  // Threads that have met at a barrier know what each of them did and knew. `step` returns a thread's step.
  template <class Threads, class Step>
  void synchronize(const Threads& threads, Step step) {
    Clock all;
    for (const unsigned thread : threads) {
      join(all, clocks_[thread]);
      raise(all, thread, step(thread));
    }
    for (const unsigned thread : threads) clocks_[thread] = all;
  }

 private:
  using Clock = std::vector<uint32_t>;  // by thread, then by mbarrier; missing entries are 0
  struct Mbarrier {
    const void* address;
    uint32_t phases;  // that have completed
    Clock arrived;    // of all arrivals
    Clock completed;  // of those up to the last completed phase, and its copies
  };

  static uint32_t at(const Clock& clock, size_t index) { return index < clock.size() ? clock[index] : 0; }
  static void raise(Clock& clock, size_t index, uint32_t value) {
    if (index >= clock.size()) clock.resize(index + 1);
    clock[index] = std::max(clock[index], value);
  }
  static void join(Clock& to, const Clock& from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
  }

  unsigned threads_ = 0;
  std::vector<Clock> clocks_;  // by thread
  std::vector<Mbarrier> barriers_;
};

}  // namespace simt
