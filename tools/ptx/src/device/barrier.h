// Barriers of a block.
#pragma once

#include "block.h"
#include "warp.h"

namespace ptx {

// The lanes arrive at the barrier of the instruction; those that wait become Warp::waiting.
void arrive_at_barrier(Warp& warp, const Instruction& instruction, uint32_t lanes);

// Threads of the block have exited: barriers for all threads may be complete.
void release_barriers_after_exit(Block& block);

}  // namespace ptx
