// cooperative_groups::thread_group: a block or lanes of a warp, as is known when the program runs.
#pragma once

#include <simt/groups/tile.h>

namespace cooperative_groups {

class thread_group {
 public:
  thread_group(const thread_block&) : block_(true), lanes_(0) {}
  thread_group(const coalesced_group& group) : block_(false), lanes_(group) {}
  template <unsigned Size, class Parent>
  thread_group(const thread_block_tile<Size, Parent>& tile) : thread_group(coalesced_group(tile.lanes())) {}

  unsigned num_threads() const { return block_ ? thread_block::num_threads() : lanes_.num_threads(); }
  unsigned size() const { return num_threads(); }
  unsigned thread_rank() const { return block_ ? thread_block::thread_rank() : lanes_.thread_rank(); }
  void sync(simt::Place place = simt::Place::current()) const {
    if (block_)
      thread_block::sync(place);
    else
      lanes_.sync(place);
  }

 private:
  friend thread_group tiled_partition(const thread_group& parent, unsigned size);
  bool block_;
  coalesced_group lanes_;
};

// `size`, a power of two up to 32, divides the threads of the parent.
inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
  const unsigned tile = (size >= 32 ? ~0u : (1u << size) - 1);
  if (parent.block_) return coalesced_group(tile << simt::thread_rank % 32 / size * size);
  // The lanes of a tile are consecutive; those of coalesced_threads() are the caller.
  const unsigned first = static_cast<unsigned>(simt::lane_id()) - parent.thread_rank() % size;
  return coalesced_group(parent.lanes_.lanes() & tile << first);
}

}  // namespace cooperative_groups
