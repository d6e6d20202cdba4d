// The addresses by which the thread sanitizer learns which waits order what, fresh for every block: blocks
// that one worker runs after each other must not look ordered.
//
// Each barrier has two objects in turn. A thread that is already at the next barrier marks the other one, so
// that a thread which is still leaving the last barrier does not learn about it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "sanitizers.h"

namespace simt {

class SyncObjects {
 public:
  explicit SyncObjects(size_t warps) {
    TsanIgnore ignore;
    objects_ = std::make_unique<Object[]>(3 + warps * 64);
    turn_ = std::make_unique<std::array<bool, 32>[]>(warps);
  }
  ~SyncObjects() {
    TsanIgnore ignore;
    objects_.reset();
    turn_.reset();
  }

  const void* start() const { return &objects_[0]; }

  const void* barrier() const { return &objects_[1 + barrier_turn_]; }
  void next_barrier() { barrier_turn_ = !barrier_turn_; }

  // Of the groups of lanes whose lowest is `lane`.
  const void* warp(size_t warp, unsigned lane) const {
    return &objects_[3 + warp * 64 + lane * 2 + turn_[warp][lane]];
  }
  void next_warp(size_t warp, unsigned lane) { turn_[warp][lane] = !turn_[warp][lane]; }

 private:
  using Object = uint64_t;
  std::unique_ptr<Object[]> objects_;
  std::unique_ptr<std::array<bool, 32>[]> turn_;
  bool barrier_turn_ = false;
};

}  // namespace simt
