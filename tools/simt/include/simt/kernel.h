// The interface between the two halves of the executor: the host half (streams, events, graphs) queues
// kernels; the device half (fibers, barriers, warps) runs their blocks.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace simt {

// One launch. body(storage) runs the kernel's code for the current CUDA thread (threadIdx, blockIdx).
struct Kernel {
  dim3 grid;
  dim3 block;
  dim3 cluster = {1, 1, 1};  // in blocks; divides the grid
  bool cooperative = false;  // all blocks run at the same time
  size_t shared_bytes = 0;
  int device = 0;
  const void* function = nullptr;
  std::vector<unsigned char> argument_bytes;  // only if kernels are observed: see observe/profile_key.h
  uint64_t sequence = 0;  // launch counter: varies the seeded order of threads between launches
  std::string name;
  void (*body)(const void* storage) = nullptr;
  const void* code = nullptr;     // what runs instead of `body`, of a device half whose kernels are not C++
  const void* storage = nullptr;  // what `body` refers to, which is no memory of the program
  size_t storage_bytes = 0;
  std::source_location launched_at = {};  // by <<<>>>; else line 0

  // The blocks that run in turns, so that they can wait for each other.
  dim3 together() const { return cooperative ? grid : cluster; }
};

// Why a block failed; error == cudaSuccess if it did not.
struct Fault {
  cudaError_t error = cudaSuccess;
  std::string message;
};

// Runs block `block` (linear index, x fastest, then y, then z) of `kernel` on the calling OS thread, to its
// end.
Fault run_block(const Kernel& kernel, uint64_t block);

// Runs all blocks of cluster `cluster`, numbered as blocks are; of a cooperative launch, all blocks.
Fault run_cluster(const Kernel& kernel, uint64_t cluster);

// Every worker calls this after its last block of `kernel`. The thread sanitizer treats a worker and the
// blocks that it runs as unordered; this call makes the blocks' writes visible to the worker.
void join_blocks(const Kernel& kernel);

}  // namespace simt
