// A warp: its registers, the lanes that run, and its asynchronous operations.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "instruction.h"
#include "races.h"

namespace ptx {

struct Block;

inline constexpr uint32_t kAllLanes = 0xFFFFFFFFu;
inline constexpr int kWarpSize = 32;
inline constexpr uint64_t kNotArrived = ~uint64_t{0};

// Memory that is aligned for vector instructions.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t bytes)
      : data_(static_cast<char*>(::operator new (bytes, std::align_val_t{64}))), bytes_(bytes) {}
  char* data() const { return data_.get(); }
  size_t size() const { return bytes_; }

 private:
  struct Free {
    void operator()(char* data) const { ::operator delete (data, std::align_val_t{64}); }
  };
  std::unique_ptr<char, Free> data_;
  size_t bytes_ = 0;
};

// A cp.async that has not happened.
struct PendingCopy {
  uint64_t from;
  uint64_t group;  // of its lane
  uint32_t to;
  uint8_t bytes, read;  // `bytes` are written; those behind the first `read` become zero
  uint8_t lane;
};

// A wgmma.mma_async that has not happened.
struct PendingProduct {
  const Instruction* instruction;
  uint64_t a, b;  // descriptors
  bool add;       // to the accumulators
  uint64_t group;
  std::array<uint32_t, kWarpSize> metadata = {};  // of a sparse product
};

// A bulk copy from shared memory, until its group has been waited for.
struct PendingStore {
  std::function<void()> read;   // the source; empty after it has been read
  std::function<void()> write;  // the destination; empty after it has been written
  bool waited = false;          // for its source
  uint64_t group;               // of its lane
  uint8_t lane;
};

// A wgmma whose group has not been waited for.
struct UnwaitedProduct {
  const Instruction* instruction;
  uint64_t group;
};

struct AsyncState {
  std::vector<PendingCopy> copies;
  uint64_t copy_group[kWarpSize] = {};  // cp.async.commit_group of each lane so far
  std::vector<PendingProduct> products;
  uint64_t product_group = 0;
  std::vector<UnwaitedProduct> unwaited;
  // Registers of wgmma, in the order of Code::product_registers: the values that the latest wgmma.fence, or a
  // product after it, has seen; and whether one is an accumulator of a product that has not been waited for.
  std::vector<char> fenced_values;
  std::vector<uint8_t> in_flight;
  std::vector<PendingStore> stores;
  uint64_t store_group[kWarpSize] = {};
};

// The lanes of a warp execute an instruction at a time. Lanes that are elsewhere have their place in
// `lane_pc`; of those that can run, the ones with the least place run first.
struct Warp {
  Block* block = nullptr;
  int index = 0;
  char* registers = nullptr;
  AlignedBytes register_memory;
  std::vector<char> local;  // lane after lane

  int32_t pc = 0;
  int32_t merge_at = 0;  // where other lanes wait to run
  uint32_t active = 0;   // lanes at pc
  uint32_t started = 0;  // lanes with threads
  uint32_t live = 0;     // those of them that have not exited
  uint32_t parked = 0;   // at an instruction that needs more lanes
  uint32_t waiting = 0;  // at the barrier `barrier`
  uint32_t yielded = 0;  // poll
  uint32_t tired = 0;    // used up a slice, and others did not since
  int32_t lane_pc[kWarpSize] = {};
  int32_t barrier = -1;
  const Instruction* at = nullptr;  // the latest

  // The allocation that the latest global access was in.
  uint64_t allocation_begin = 1, allocation_end = 0;
  bool allocation_writable = false;

  uint32_t carry[kWarpSize] = {};     // condition code CC.CF
  uint64_t cluster_phase[kWarpSize];  // in which a lane arrived at the barrier of the cluster; kNotArrived
  std::vector<std::pair<uint32_t, const Instruction*>> reductions;  // bar.red: lanes that want the result
  AsyncState async;
  WarpClock clock;
  bool fruitless = false;  // the latest attempt: an atomic operation that changed nothing, or a strong load
  bool watched = false;    // stores and atomic operations set `changed` if they change memory
  bool changed = false;
  bool strong = false;  // the access under way is volatile, relaxed, acquire, release, or atomic

  template <class T>
  T* values(Operand operand) const {
    return reinterpret_cast<T*>(registers + operand.at);
  }
  uint32_t& predicate(int32_t at) const { return *reinterpret_cast<uint32_t*>(registers + at); }
};

// The values of operand `index` in the 32 lanes.
template <class T>
inline T* values(const Warp& warp, const Instruction& instruction, int index) {
  return warp.values<T>(instruction.operands[index]);
}
inline uint32_t& predicate(const Warp& warp, const Instruction& instruction, int index) {
  return warp.predicate(instruction.operands[index].at);
}
inline void set_predicate(const Warp& warp, const Instruction& instruction, int index, uint32_t lanes,
                          uint32_t value) {
  uint32_t& word = predicate(warp, instruction, index);
  word = (word & ~lanes) | (value & lanes);
}

// The value of an operand of any width in a lane.
inline uint64_t value_of(const Warp& warp, Operand operand, int lane) {
  switch (operand.bytes) {
    case 2:
      return warp.values<uint16_t>(operand)[lane];
    case 4:
      return warp.values<uint32_t>(operand)[lane];
    case 8:
      return warp.values<uint64_t>(operand)[lane];
    default:
      return warp.predicate(operand.at) >> lane & 1;
  }
}
inline void set_value(const Warp& warp, Operand operand, int lane, uint64_t value) {
  switch (operand.bytes) {
    case 2:
      warp.values<uint16_t>(operand)[lane] = static_cast<uint16_t>(value);
      break;
    case 4:
      warp.values<uint32_t>(operand)[lane] = static_cast<uint32_t>(value);
      break;
    case 8:
      warp.values<uint64_t>(operand)[lane] = value;
      break;
    default: {
      uint32_t& word = warp.predicate(operand.at);
      word = (word & ~(1u << lane)) | static_cast<uint32_t>(value & 1) << lane;
    }
  }
}

// Calls function(lane) for the lanes of the mask.
template <class Function>
inline void for_lanes(uint32_t lanes, Function function) {
  if (lanes == kAllLanes) {
#pragma GCC ivdep
    for (int lane = 0; lane < kWarpSize; ++lane) function(lane);
  } else {
    for (; lanes != 0; lanes &= lanes - 1) function(std::countr_zero(lanes));
  }
}

}  // namespace ptx
