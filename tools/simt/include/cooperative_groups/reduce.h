// Sums and other reductions of the values of a tile or of coalesced threads.
#pragma once

#include <cooperative_groups.h>

namespace cooperative_groups {

#define SIMT_GROUP_OPERATION(name, expression)                          \
  template <class T>                                                    \
  struct name {                                                         \
    T operator()(T a, T b) const { return static_cast<T>(expression); } \
  };
SIMT_GROUP_OPERATION(plus, a + b)
SIMT_GROUP_OPERATION(less, b < a ? b : a)
SIMT_GROUP_OPERATION(greater, a < b ? b : a)
SIMT_GROUP_OPERATION(bit_and, a& b)
SIMT_GROUP_OPERATION(bit_or, a | b)
SIMT_GROUP_OPERATION(bit_xor, a ^ b)
#undef SIMT_GROUP_OPERATION

// The same result in all threads. The order of a tile is that of a butterfly.
template <unsigned Size, class Parent, class T, class Operation>
T reduce(const thread_block_tile<Size, Parent>& tile, T value, Operation operation,
         simt::Place place = simt::Place::current()) {
  for (unsigned distance = Size / 2; distance > 0; distance /= 2)
    value = operation(value, tile.shfl_xor(value, distance, place));
  return value;
}
template <class T, class Operation>
T reduce(const coalesced_group& group, T value, Operation operation,
         simt::Place place = simt::Place::current()) {
  T total = group.shfl(value, 0, place);
  for (unsigned rank = 1; rank < group.num_threads(); ++rank)
    total = operation(total, group.shfl(value, rank, place));
  return total;
}

}  // namespace cooperative_groups
