// The memory map: allocations of the devices and pinned host memory, memory limits, and peer access.
#pragma once

#include <simt/faults.h>
#include <simt/kernel.h>
#include <simt/launch.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "guarded_arena.h"

namespace simt {

// A pool of stream-ordered allocations (cudaMallocAsync()). It keeps no free memory: what is freed goes back
// to the device. All but `device` and `most` is guarded by the lock of Memory.
struct MemoryPool {
  int device = 0;
  size_t most = SIZE_MAX;  // bytes in use
  size_t used = 0, high = 0;
  std::vector<bool> access;  // by device, for others than its own
  void* handle = nullptr;
  int reuse[3] = {1, 1, 1};        // set and read only, as all memory is free at once
  uint64_t release_threshold = 0;  // likewise
};

class Memory {
 public:
  static constexpr int kHost = -1;  // "device" of pinned host memory

  struct Range {
    uintptr_t begin = 0;
    size_t bytes = 0;
    int device = kHost;
    bool registered = false;  // not allocated here: pinned by cudaHostRegister(), or a variable
    bool constant = false;    // kernels may only read it
    bool managed = false;     // every device and the host may access it
    std::shared_ptr<MemoryPool> pool = {};
  };

  Memory(int devices, size_t limit);

  // Fills new memory with 0xFF bytes, or with 0 (set_zeroed_memory()). Zero bytes give a null pointer.
  cudaError_t allocate(int device, size_t bytes, void** pointer, bool managed = false,
                       std::shared_ptr<MemoryPool> pool = nullptr);
  // Frees memory of this kind from allocate(); null is allowed.
  cudaError_t release(void* pointer, bool host);
  void release_all_of(int device);
  // Counts towards the limit of a device, without an address.
  cudaError_t reserve(int device, size_t bytes);
  void give_back(int device, size_t bytes);
  // Pins memory of the program, and ends that.
  cudaError_t pin(void* pointer, size_t bytes);
  cudaError_t unpin(void* pointer);
  // Makes a variable of device code known, until release_all_of(device).
  void add_variable(int device, void* pointer, size_t bytes, bool constant, bool managed = false);

  // The allocation that contains `address`, or that ends there; or the registered memory that contains it.
  std::optional<Range> find(const void* address) const;
  // Whether find() finds all pointers at these offsets of an argument, or they are null.
  bool finds_all(const void* argument, const std::vector<size_t>& offsets) const;
  // Whether the allocation is still there.
  bool exists(const Range& range) const;

  void set_limit(int device, size_t bytes);
  size_t limit(int device) const;
  size_t used(int device) const;

  bool peer_enabled(int device, int owner) const;
  // Whether kernels on `device` may access the memory: memory of other devices by peer access, that of pools
  // by the access of the pool alone.
  bool may_access(int device, const Range& range) const;
  // "is memory of device 1, which device 0 may not touch; call ... first"
  static std::string refusal(int device, const Range& range);
  // What an address is that find() does not know: freed, how far from an allocation it is, or kUnknown.
  std::string unknown(const void* address) const;
  static constexpr const char* kUnknown =
      "neither device memory nor pinned host memory (pageable host memory, or freed already?)";
  // Calls work(pool), guarded by the lock.
  template <class Work>
  void change(MemoryPool& pool, Work work) {
    const std::unique_lock lock(mutex_);
    work(pool);
    ++generation_;
  }
  void enable_peer(int device, int owner, bool enabled);

  // The state of the link from `device` to `owner`; see simt/faults.h.
  PeerAccess link(int device, int owner) const;
  void set_link(int device, int owner, PeerAccess access);
  bool any_broken_link() const { return any_broken_link_; }
  // What happens to copies from the memory of `from` to that of `to`; see simt/faults.h.
  PeerCopies copies(int from, int to) const;
  void set_copies(int from, int to, PeerCopies copies);

  // Whether a kernel on `device` may access the memory that its arguments point to.
  Fault check(int device, const std::string& kernel, const std::vector<Argument>& arguments) const;
  // Of SIMT_BOUNDS=1; empty otherwise.
  const GuardedArena& arena() const { return arena_; }
  // Changes whenever the result of check() may change.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  const Range* find_locked(uintptr_t address) const;
  bool may_access_locked(int device, const Range& range) const;

  void free_unlocked(void* pointer);

  GuardedArena arena_;
  mutable std::shared_mutex mutex_;
  std::map<uintptr_t, Range> ranges_;
  struct Freed {
    uintptr_t begin = 0;
    size_t bytes = 0;
  };
  std::array<Freed, 64> freed_;  // the latest, for messages
  size_t next_freed_ = 0;
  std::vector<size_t> limit_;
  std::vector<size_t> used_;
  std::vector<std::vector<bool>> peers_;         // [device][owner]
  std::vector<std::vector<PeerAccess>> links_;   // [device][owner]
  std::vector<std::vector<PeerCopies>> copies_;  // [from][to]
  std::atomic<bool> any_broken_link_{false};     // now or earlier
  std::atomic<uint64_t> generation_{1};
};

}  // namespace simt
