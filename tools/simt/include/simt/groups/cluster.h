// cooperative_groups::cluster_group.
#pragma once

#include <simt/builtins.h>
#include <simt/cluster.h>

namespace cooperative_groups {

class cluster_group {
 public:
  struct arrival_token {};
  static arrival_token barrier_arrive(simt::Place place = simt::Place::current()) {
    simt::cluster_arrive(place);
    return {};
  }
  static void barrier_wait(arrival_token&&, simt::Place place = simt::Place::current()) {
    simt::cluster_wait(place);
  }
  static void barrier_wait(simt::Place place = simt::Place::current()) { simt::cluster_wait(place); }
  static void sync(simt::Place place = simt::Place::current()) {
    simt::cluster_arrive(place);
    simt::cluster_wait(place);
  }
  static unsigned block_rank() { return simt::cluster_rank(); }
  static unsigned num_blocks() { return simt::cluster_size(); }
  static unsigned num_threads() { return num_blocks() * threads_of_block(); }
  static unsigned size() { return num_threads(); }
  static unsigned thread_rank() { return block_rank() * threads_of_block() + simt::thread_rank; }
  // The address in the shared memory of block `rank`.
  template <class T>
  static T* map_shared_rank(T* shared, int rank, simt::Place place = simt::Place::current()) {
    return static_cast<T*>(simt::cluster_map(shared, static_cast<unsigned>(rank), place));
  }

 private:
  static unsigned threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
};

inline cluster_group this_cluster() { return {}; }

}  // namespace cooperative_groups
