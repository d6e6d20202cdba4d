// What bulk and tensor copies have in common.
#pragma once

#include <functional>

#include "block.h"
#include "memory.h"
#include "reduction.h"
#include "warp.h"

namespace ptx {

// An element-wise reduction instead of a copy; none: a copy.
struct BulkReduction {
  Type type = Type::none;
  Reduction reduction = Reduction::none;
};
void put_bulk(const BulkReduction& how, char* to, const char* from, uint32_t bytes);

// Blocks of the cluster that receive a copy: the operand's mask, or the block of the address.
uint32_t receiving_blocks(const Warp& warp, Operand mask, int lane, uint32_t address);

// Issues a copy to shared memory, which completes at the mbarrier, or one from shared memory, of the lane's
// group.
void issue_load(Warp& warp, std::function<void()> act);
void issue_store(Warp& warp, int lane, std::function<void()> read, std::function<void()> write);

// The cached allocation of a copy that runs without its warp.
class GlobalRange {
 public:
  explicit GlobalRange(const LaunchState& launch) : launch_(&launch) {}
  // Faults: the bytes are outside of an allocation.
  char* pointer(uint64_t address, uint64_t bytes, bool write);

 private:
  const LaunchState* launch_;
  Allocation allocation_;
};

}  // namespace ptx
