// Prefix sums over the threads of a tile or of coalesced threads, in the order of their ranks.
#pragma once

#include <cooperative_groups/reduce.h>

namespace cooperative_groups {

template <class Group, class T, class Operation = plus<T>>
T inclusive_scan(const Group& group, T value, Operation operation = {},
                 simt::Place place = simt::Place::current()) {
  for (unsigned distance = 1; distance < group.num_threads(); distance *= 2) {
    const T before = group.shfl_up(value, distance, place);
    if (group.thread_rank() >= distance) value = operation(before, value);
  }
  return value;
}

// The first thread gets T{}.
template <class Group, class T, class Operation = plus<T>>
T exclusive_scan(const Group& group, T value, Operation operation = {},
                 simt::Place place = simt::Place::current()) {
  const T before = group.shfl_up(inclusive_scan(group, value, operation, place), 1, place);
  return group.thread_rank() == 0 ? T{} : before;
}

}  // namespace cooperative_groups
