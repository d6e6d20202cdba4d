#pragma once

#include "async_state.h"

namespace simt {

class Block;

// The 8 bytes of an mbarrier. Fresh memory (all bits set) and zeros are not barriers.
struct MbarrierState {
  static constexpr unsigned kInitialized = 2;
  static constexpr int64_t kMostCount = (1 << 20) - 1;

  uint64_t count : 20;    // arrivals of each phase
  uint64_t pending : 20;  // arrivals that the current phase waits for
  int64_t tx : 21;        // bytes that it waits for
  uint64_t parity : 1;    // of the current phase
  uint64_t initialized : 2;
};
static_assert(sizeof(MbarrierState) == 8);

// Issues a copy of load.bytes bytes that completes on `barrier` of block `at`: now, or in late mode when a
// wait succeeds.
void issue_load(Block& at, void* barrier, const BulkLoad& load, const char* instruction);

}  // namespace simt
