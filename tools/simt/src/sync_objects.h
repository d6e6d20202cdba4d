// The addresses by which the thread sanitizer learns which waits order what, fresh for every block: blocks
// that one worker runs after each other must not look ordered.
//
// Each barrier has two objects in turn. A thread that is already at the next barrier marks the other one, so
// that a thread which is still leaving the last barrier does not learn about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sanitizers.h"

namespace simt {

class SyncObjects {
 public:
  explicit SyncObjects(size_t warps) {
    TsanIgnore ignore;
    objects_ = std::make_unique<Object[]>(3 + warps * kPerWarp);
    turns_ = std::make_unique<unsigned[]>(warps);
  }
  ~SyncObjects() {
    TsanIgnore ignore;
    objects_.reset();
    turns_.reset();
  }

  const void* start() const { return &objects_[0]; }

  const void* barrier() const { return &objects_[1 + barrier_turn_]; }
  void next_barrier() { barrier_turn_ = !barrier_turn_; }

  // For the lanes of one __syncwarp. A warp has many objects in turn, for the same reason.
  const void* next_of_warp(size_t warp) { return &objects_[3 + warp * kPerWarp + turns_[warp]++ % kPerWarp]; }

 private:
  using Object = uint64_t;
  static constexpr size_t kPerWarp = 64;
  std::unique_ptr<Object[]> objects_;
  std::unique_ptr<unsigned[]> turns_;
  bool barrier_turn_ = false;
};

}  // namespace simt
