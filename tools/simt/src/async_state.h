// The asynchronous operations of the running block: the threads that wait for an mbarrier, the bulk copies
// that have yet to happen (late mode), and shared memory as asynchronous operations see it.
#pragma once

#include <simt/barrier.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fiber.h"
#include "report.h"
#include "warpgroup.h"

namespace simt {

class AsyncState;

// A bulk copy to shared memory. `copy` performs it; its arguments are stored in `arguments`.
struct BulkLoad {
  alignas(8) unsigned char arguments[160];
  void (*copy)(AsyncState& state, const void* arguments);
  unsigned bytes;
  Place place;
};

// An mbarrier that threads wait for or that late copies belong to.
struct MbarrierUse {
  void* address;
  FiberQueue waiting;
  std::vector<BulkLoad> loads;  // late mode: of the current phase
};

class AsyncState {
 public:
  void start(bool late) {
    late_ = late;
    uses_.clear();
    seen_.clear();
    warpgroups_.clear();
  }
  bool late() const { return late_; }

  MbarrierUse& use_of(void* barrier);
  const std::vector<MbarrierUse>& uses() const { return uses_; }
  void add_waiting(WaitReport& report) const;
  const BulkLoad* unfinished_load() const;  // late mode; null: none

  Warpgroup& warpgroup(unsigned number) {
    if (warpgroups_.size() <= number) warpgroups_.resize(number + 1);
    return warpgroups_[number];
  }

  // Shared memory as asynchronous operations see it. In late mode a byte that a thread has changed since the
  // last fence reads as 0xFF; otherwise all writes are seen at once.
  void fence();
  void read(void* to, const void* from_shared, size_t bytes);
  void write(void* to_shared, const void* from, size_t bytes);
  void fill(void* to_shared, int value, size_t bytes);

 private:
  void add_waiting_warpgroups(WaitReport& report) const;  // in wgmma.cpp
  unsigned char* seen(const void* shared);

  bool late_ = false;
  std::vector<MbarrierUse> uses_;
  std::vector<Warpgroup> warpgroups_;
  std::vector<unsigned char> seen_;  // late mode: shared memory at the last fence
};

// "byte 64 of shared memory". Raises a fault of `instruction` unless the `bytes` at `address` are in the
// shared memory of the block, at a multiple of `alignment`.
std::string shared_text(const void* address);
void check_shared(const char* instruction, const void* address, size_t bytes, size_t alignment,
                  const Place& place);
size_t shared_offset(const void* address);

}  // namespace simt
