// The seam between the two halves of the executor: the host half (streams, events, graphs) queues kernels;
// the device half (fibers, barriers, warps) runs their blocks.
#pragma once

#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace simt {

// One launch. `body` runs the kernel's code for the CUDA thread that is current (threadIdx, blockIdx).
struct Kernel {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  int device = 0;
  uint64_t sequence = 0;  // counts launches: salts the seeded order of threads
  std::string name;
  std::function<void()> body;
};

// Why a block could not finish; error == cudaSuccess means that it did.
struct Fault {
  cudaError_t error = cudaSuccess;
  std::string message;
};

// Runs block number `block` (x fastest, then y, then z) of `kernel` to its end on the calling OS thread.
Fault run_block(const Kernel& kernel, uint64_t block);

// Every worker calls this after its last block of `kernel`. It tells the thread sanitizer, which sees a worker and
// the blocks that it runs as unordered, that what the blocks wrote is there now.
void join_blocks(const Kernel& kernel);

}  // namespace simt
