// What the GPUs that SIMT_GPU may name allow a block, and what their multiprocessors hold.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace simt {

struct GpuLimits {
  const char* name;   // the value of SIMT_GPU
  const char* title;  // as the vendor writes it, with its article
  int major, minor;   // compute capability
  int multiprocessors;
  // Shared memory in KB: the most that a kernel may opt in to, of a multiprocessor, and what the system takes
  // of each block.
  int shared_opt_in_kb, shared_kb, shared_reserved_kb;
  int threads, blocks;  // resident on a multiprocessor
};

// Null for a name that is not known.
const GpuLimits* find_gpu(std::string_view name);

std::string known_gpus();  // "t4, a100, ..."

// The limits that the settings name; those of the executor itself where they name none.
const GpuLimits& limits();

}  // namespace simt
