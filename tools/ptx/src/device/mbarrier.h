// mbarriers of shared memory.
#pragma once

#include "block.h"
#include "warp.h"

namespace ptx {

// The mbarrier at a shared address. Faults: none has been initialised there.
MBarrier& find_mbarrier(const Warp& warp, uint32_t address);

// `count` threads arrive at the mbarrier. Faults: it expects fewer.
void arrive(const Warp& warp, uint32_t address, uint32_t count);

// A bulk copy of `bytes` is complete.
void complete_transactions(Block& block, uint32_t offset, uint32_t bytes);

}  // namespace ptx
