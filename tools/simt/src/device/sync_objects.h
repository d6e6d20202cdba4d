// The addresses by which the thread sanitizer tracks the order that waits create. Every block gets new ones,
// because consecutive blocks of a worker must not appear ordered.
//
// Barriers alternate between two objects: a thread that has reached the next barrier releases the other
// object, so that a thread that is still leaving the last barrier does not acquire it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "../base/sanitizers.h"

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

  // For the lanes of one __syncwarp. A warp cycles through many objects, for the same reason.
  const void* next_of_warp(size_t warp) { return &objects_[3 + warp * kPerWarp + turns_[warp]++ % kPerWarp]; }

 private:
  using Object = uint64_t;
  static constexpr size_t kPerWarp = 64;
  std::unique_ptr<Object[]> objects_;
  std::unique_ptr<unsigned[]> turns_;
  bool barrier_turn_ = false;
};

}  // namespace simt
