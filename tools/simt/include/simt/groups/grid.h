// cooperative_groups::grid_group: the blocks of a launch by cudaLaunchCooperativeKernel().
#pragma once

#include <simt/builtins.h>
#include <simt/grid.h>

namespace cooperative_groups {

class grid_group {
 public:
  static bool is_valid() { return simt::grid_is_cooperative(); }
  // A fault in another launch.
  static void sync(simt::Place place = simt::Place::current()) { simt::grid_sync(place); }

  static unsigned long long num_blocks() {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
  }
  static unsigned long long block_rank() {
    return blockIdx.x + gridDim.x * (blockIdx.y + static_cast<unsigned long long>(gridDim.y) * blockIdx.z);
  }
  static unsigned long long num_threads() { return num_blocks() * threads_of_block(); }
  static unsigned long long thread_rank() { return block_rank() * threads_of_block() + simt::thread_rank; }
  static unsigned long long size() { return num_threads(); }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 group_dim() { return gridDim; }
  static dim3 block_index() { return blockIdx; }

 private:
  static unsigned long long threads_of_block() {
    return static_cast<unsigned long long>(blockDim.x) * blockDim.y * blockDim.z;
  }
};

inline grid_group this_grid() { return {}; }

}  // namespace cooperative_groups
