// mbarriers of shared memory.
#pragma once

#include <string>

#include "block.h"
#include "warp.h"

namespace ptx {

// The mbarrier at a shared address. Faults: none has been initialised there.
MBarrier& find_mbarrier(const Warp& warp, uint32_t address);

// An access to an mbarrier of another block: the thread that initialised it must have made that visible.
void check_visible(const Block& self, const MBarrier& barrier, uint32_t address);
// The same of a bulk copy that completes at the mbarriers of `blocks`, and that accesses them by the async
// proxy. Those of its own block need a fence for tensor copies only: cuda::memcpy_async() has none.
void check_mbarriers_of_copy(const Block& self, uint32_t blocks, uint32_t offset, bool is_tensor_copy);
// The lanes make the mbarriers that they initialised visible.
struct Visibility {
  bool to_cluster, to_copies;
};
void fence_mbarriers(Warp& warp, uint32_t lanes, Visibility visibility);

// What the warp waits for in its latest instruction; empty if that is no wait for an mbarrier.
std::string describe_awaited(const Warp& warp);

// `count` threads arrive at the mbarrier. Faults: it expects fewer.
void arrive(Warp& warp, uint32_t address, uint32_t count);

// A bulk copy of `bytes` is complete.
void complete_transactions(Block& block, uint32_t offset, uint32_t bytes);

}  // namespace ptx
