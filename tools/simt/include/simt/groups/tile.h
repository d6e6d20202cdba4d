// Tiles of a warp: cooperative_groups::thread_block_tile, and the groups that branches and labels make of it.
#pragma once

#include <simt/groups/block.h>
#include <simt/warp.h>

#include <bit>
#include <type_traits>

namespace cooperative_groups {

// Lanes of one warp. The ranks follow the lanes.
class coalesced_group {
 public:
  explicit coalesced_group(unsigned lanes, unsigned meta_rank = 0, unsigned meta_size = 1)
      : lanes_(lanes), meta_rank_(meta_rank), meta_size_(meta_size) {}

  unsigned num_threads() const { return static_cast<unsigned>(std::popcount(lanes_)); }
  unsigned size() const { return num_threads(); }
  unsigned thread_rank() const {
    return static_cast<unsigned>(std::popcount(lanes_ & ((1u << simt::lane_id()) - 1)));
  }
  unsigned meta_group_rank() const { return meta_rank_; }
  unsigned meta_group_size() const { return meta_size_; }
  void sync(simt::Place place = simt::Place::current()) const { __syncwarp(lanes_, place); }

  template <class T>
  T shfl(T value, unsigned rank, simt::Place place = simt::Place::current()) const {
    return __shfl_sync(lanes_, value, lane(rank % num_threads()), warpSize, place);
  }
  template <class T>
  T shfl_up(T value, unsigned delta, simt::Place place = simt::Place::current()) const {
    const unsigned rank = thread_rank();
    return __shfl_sync(lanes_, value, lane(rank < delta ? rank : rank - delta), warpSize, place);
  }
  template <class T>
  T shfl_down(T value, unsigned delta, simt::Place place = simt::Place::current()) const {
    const unsigned rank = thread_rank();
    return __shfl_sync(lanes_, value, lane(delta >= num_threads() - rank ? rank : rank + delta), warpSize,
                       place);
  }
  int any(int predicate, simt::Place place = simt::Place::current()) const {
    return __any_sync(lanes_, predicate, place);
  }
  int all(int predicate, simt::Place place = simt::Place::current()) const {
    return __all_sync(lanes_, predicate, place);
  }
  // Bit i is of the thread with rank i.
  unsigned ballot(int predicate, simt::Place place = simt::Place::current()) const {
    return ranks_of(__ballot_sync(lanes_, predicate, place));
  }
  template <class T>
  unsigned match_any(T value, simt::Place place = simt::Place::current()) const {
    return ranks_of(__match_any_sync(lanes_, value, place));
  }
  template <class T>
  unsigned match_all(T value, int& predicate, simt::Place place = simt::Place::current()) const {
    return ranks_of(__match_all_sync(lanes_, value, &predicate, place));
  }

  unsigned lanes() const { return lanes_; }  // not of CUDA

 private:
  int lane(unsigned rank) const {
    unsigned rest = lanes_;
    for (; rank > 0; --rank) rest &= rest - 1;
    return std::countr_zero(rest);
  }
  unsigned ranks_of(unsigned lanes) const {
    unsigned ranks = 0, rank = 0;
    for (unsigned rest = lanes_; rest != 0; rest &= rest - 1, ++rank)
      ranks |= (lanes >> std::countr_zero(rest) & 1) << rank;
    return ranks;
  }

  unsigned lanes_, meta_rank_, meta_size_;
};

// The calling thread alone.
inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

// Size consecutive threads of a block, in a warp.
template <unsigned Size, class Parent = thread_block>
class thread_block_tile {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "a power of two up to 32");

 public:
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  static unsigned thread_rank() { return simt::thread_rank % Size; }
  // Among the tiles of the parent.
  static unsigned meta_group_rank() { return simt::thread_rank % parent_size() / Size; }
  static unsigned meta_group_size() { return (parent_size() + Size - 1) / Size; }
  static void sync(simt::Place place = simt::Place::current()) { __syncwarp(lanes(), place); }

  template <class T>
  static T shfl(T value, int rank, simt::Place place = simt::Place::current()) {
    return __shfl_sync(lanes(), value, rank, Size, place);
  }
  template <class T>
  static T shfl_up(T value, unsigned delta, simt::Place place = simt::Place::current()) {
    return __shfl_up_sync(lanes(), value, delta, Size, place);
  }
  template <class T>
  static T shfl_down(T value, unsigned delta, simt::Place place = simt::Place::current()) {
    return __shfl_down_sync(lanes(), value, delta, Size, place);
  }
  template <class T>
  static T shfl_xor(T value, unsigned mask, simt::Place place = simt::Place::current()) {
    return __shfl_xor_sync(lanes(), value, static_cast<int>(mask), Size, place);
  }
  static int any(int predicate, simt::Place place = simt::Place::current()) {
    return __any_sync(lanes(), predicate, place);
  }
  static int all(int predicate, simt::Place place = simt::Place::current()) {
    return __all_sync(lanes(), predicate, place);
  }
  // Bit i is of the thread with rank i.
  static unsigned ballot(int predicate, simt::Place place = simt::Place::current()) {
    return __ballot_sync(lanes(), predicate, place) >> first_lane();
  }
  template <class T>
  static unsigned match_any(T value, simt::Place place = simt::Place::current()) {
    return __match_any_sync(lanes(), value, place) >> first_lane();
  }
  template <class T>
  static unsigned match_all(T value, int& predicate, simt::Place place = simt::Place::current()) {
    return __match_all_sync(lanes(), value, &predicate, place) >> first_lane();
  }

  static unsigned lanes() {
    return (Size == 32 ? ~0u : (1u << Size % 32) - 1) << first_lane();
  }  // not of CUDA

 private:
  static unsigned first_lane() { return simt::thread_rank % 32 / Size * Size; }
  static unsigned parent_size() {
    if constexpr (std::is_same_v<Parent, thread_block>)
      return thread_block::size();
    else
      return Parent::size();
  }
};

template <unsigned Size>
thread_block_tile<Size> tiled_partition(const thread_block&) {
  return {};
}
template <unsigned Size, unsigned Outer, class Parent>
thread_block_tile<Size, thread_block_tile<Outer, Parent>> tiled_partition(
    const thread_block_tile<Outer, Parent>&) {
  static_assert(Size <= Outer);
  return {};
}
// The threads of a tile that call it with the same predicate or label; all threads of the tile call it.
template <class Group>
coalesced_group labeled_partition(const Group& group, int label, simt::Place place = simt::Place::current()) {
  return coalesced_group(__match_any_sync(group.lanes(), label, place));
}
template <class Group>
coalesced_group binary_partition(const Group& group, bool predicate,
                                 simt::Place place = simt::Place::current()) {
  return labeled_partition(group, predicate, place);
}

}  // namespace cooperative_groups
