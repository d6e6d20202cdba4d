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

// The swizzle of a tensor copy, in bytes, and its place.
struct BoxLayout {
  unsigned span;
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
    layouts_.clear();
    line_layouts_.clear();
    copied_.clear();
  }
  bool late() const { return late_; }

  MbarrierUse& use_of(void* barrier);
  const std::vector<MbarrierUse>& uses() const { return uses_; }
  void add_waiting(WaitReport& report) const;
  const BulkLoad* unfinished_load() const;  // late mode; null: none

  Warpgroup& warpgroup(unsigned number) {
    TsanIgnore ignore;
    if (warpgroups_.size() <= number) warpgroups_.resize(number + 1);
    return warpgroups_[number];
  }

  // Shared memory as asynchronous operations see it. In late mode they must not read a byte that a thread has
  // changed since the last fence, of any thread: unfenced() is the first one; null: none.
  void fence();
  const void* unfenced(const void* shared, size_t bytes);
  void fill(void* to_shared, int value, size_t bytes);
  // What a copy writes; `layout`: 0, or that of the box whose part it is.
  void write(void* to_shared, const void* from, size_t bytes, uint16_t layout = 0);
  uint16_t layout(unsigned span, const Place& place);
  // The layout of the box that the 16 bytes at `shared` are part of, if they still have the values that the
  // copy wrote; otherwise null.
  const BoxLayout* box_at(const void* shared) const;

  // Raises a fault if the `bytes` at `to_shared` meet an operand of a product that was not waited for. In
  // wgmma.cpp.
  void check_overwritten(const char* instruction, const void* to_shared, size_t bytes,
                         const Place& place) const;

 private:
  void add_waiting_warpgroups(WaitReport& report) const;  // in wgmma.cpp
  unsigned char* seen(const void* shared);

  bool late_ = false;
  std::vector<MbarrierUse> uses_;
  std::vector<Warpgroup> warpgroups_;
  std::vector<unsigned char> seen_;  // late mode: shared memory at the last fence
  std::vector<BoxLayout> layouts_;
  std::vector<uint16_t> line_layouts_;  // of each 16 bytes of shared memory: 0, or 1 + an index of layouts_
  std::vector<unsigned char> copied_;   // what they wrote
};

// "byte 64 of shared memory". Raises a fault of `instruction` unless the `bytes` at `address` are in the
// shared memory of the block, at a multiple of `alignment`.
std::string shared_text(const void* address);
void check_shared(const char* instruction, const void* address, size_t bytes, size_t alignment,
                  const Place& place);
size_t shared_offset(const void* address);

}  // namespace simt
