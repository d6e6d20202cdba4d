// Block barriers, memory fences and __trap().
//
// Every call that can wait takes its call site as a hidden last argument, for deadlock reports.
#pragma once

#include <simt/builtins.h>

#include <cstdint>
#include <source_location>

namespace simt {

using Place = std::source_location;

// Waits for all threads of the block that have not exited.
void block_barrier(Place place);

enum class BlockVote { count, all, any };

// A barrier that also returns the number of threads with a non-zero `predicate` (count), or whether all or
// any have one.
int block_vote(BlockVote vote, int predicate, Place place);

// Orders memory for the thread sanitizer; the CPU needs no fence between fibers of one block.
void memory_fence(bool for_all_blocks = true);

// Ends the block with an error. No thread of the block runs afterwards.
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

inline void __threadfence_block() { simt::memory_fence(false); }
inline void __threadfence() { simt::memory_fence(); }
inline void __threadfence_system() { simt::memory_fence(); }

[[noreturn]] inline void __trap(simt::Place place = simt::Place::current()) { simt::trap(place); }
