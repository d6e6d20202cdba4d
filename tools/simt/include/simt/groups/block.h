// cooperative_groups::thread_block.
#pragma once

#include <simt/barrier.h>
#include <simt/builtins.h>

namespace cooperative_groups {

class thread_block {
 public:
  static void sync(simt::Place place = simt::Place::current()) { __syncthreads(place); }
  static unsigned thread_rank() { return simt::thread_rank; }
  static dim3 group_index() { return blockIdx; }
  static dim3 thread_index() { return threadIdx; }
  static dim3 dim_threads() { return blockDim; }
  static dim3 group_dim() { return blockDim; }
  static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned size() { return num_threads(); }

  // barrier_arrive() and barrier_wait() have one meaning here: the threads meet at the wait.
  struct arrival_token {};
  static arrival_token barrier_arrive() { return {}; }
  static void barrier_wait(arrival_token&&, simt::Place place = simt::Place::current()) {
    __syncthreads(place);
  }
};

inline thread_block this_thread_block() { return {}; }

// Of any group.
template <class Group>
void sync(const Group& group, simt::Place place = simt::Place::current()) {
  group.sync(place);
}
template <class Group>
unsigned thread_rank(const Group& group) {
  return static_cast<unsigned>(group.thread_rank());
}
template <class Group>
auto group_size(const Group& group) {
  return group.size();
}
template <class Group>
void invoke_one(const Group& group, auto&& function, auto&&... arguments) {
  if (group.thread_rank() == 0)
    static_cast<decltype(function)>(function)(static_cast<decltype(arguments)>(arguments)...);
}

}  // namespace cooperative_groups
