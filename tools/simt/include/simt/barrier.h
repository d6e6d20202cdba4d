// Barriers of a block, memory fences, and the ways a kernel can give up.
//
// Every call that can wait takes the place it was called from as a hidden last argument, so that a deadlock
// report can say which threads wait where.
#pragma once

#include <simt/builtins.h>

#include <cstdint>
#include <source_location>

namespace simt {

using Place = std::source_location;

// Waits until every thread of the block that has not exited is here.
void block_barrier(Place place);

enum class BlockVote { count, all, any };

// The same, and returns for how many of them `predicate` is not zero (count), or whether for all or any.
int block_vote(BlockVote vote, int predicate, Place place);

// Orders memory for the thread sanitizer; the CPU itself needs no fence between fibers of one block.
void memory_fence();

// Ends the block with an error. Nothing of the block runs after it.
[[noreturn]] void trap(Place place);

}  // namespace simt

inline void __syncthreads(simt::Place place = simt::Place::current()) { simt::block_barrier(place); }

inline int __syncthreads_count(int predicate, simt::Place place = simt::Place::current()) {
  return simt::block_vote(simt::BlockVote::count, predicate, place);
}
inline int __syncthreads_and(int predicate, simt::Place place = simt::Place::current()) {
  return simt::block_vote(simt::BlockVote::all, predicate, place);
}
inline int __syncthreads_or(int predicate, simt::Place place = simt::Place::current()) {
  return simt::block_vote(simt::BlockVote::any, predicate, place);
}

inline void __threadfence_block() { simt::memory_fence(); }
inline void __threadfence() { simt::memory_fence(); }
inline void __threadfence_system() { simt::memory_fence(); }

[[noreturn]] inline void __trap(simt::Place place = simt::Place::current()) { simt::trap(place); }
