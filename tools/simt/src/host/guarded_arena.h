// GuardedArena: addresses for allocations that are far apart and never used again, so that an address tells
// which allocation it missed, or that its memory was freed (SIMT_BOUNDS=1).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace simt {

class GuardedArena {
 public:
  struct Allocation {
    uintptr_t begin = 0;
    size_t bytes = 0;
    int device = 0;
    bool freed = false;
  };

  // Null if there is no memory. The bytes are zero.
  void* allocate(size_t bytes, int device);
  // Whether the arena has `pointer`; its memory is given back.
  bool release(void* pointer);

  bool contains(uintptr_t address) const {
    const uintptr_t begin = begin_.load(std::memory_order_relaxed);
    return begin != 0 && address - begin < kReserved;
  }
  // The allocation that an address of the arena is in, or the nearer one of its neighbours.
  std::optional<Allocation> nearest(uintptr_t address) const;

 private:
  static constexpr size_t kReserved = size_t{1} << 42;  // addresses, without memory
  static constexpr size_t kGap = size_t{1} << 20;

  mutable std::mutex mutex_;
  std::atomic<uintptr_t> begin_ = 0;
  uintptr_t next_ = 0;
  std::map<uintptr_t, Allocation> allocations_;  // also those that were freed
};

}  // namespace simt
