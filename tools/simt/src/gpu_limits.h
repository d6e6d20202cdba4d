// The block and multiprocessor limits of the GPUs that SIMT_GPU can select.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace simt {

struct GpuLimits {
  const char* name;   // the value of SIMT_GPU
  const char* title;  // the vendor's spelling, with its article
  int major, minor;   // compute capability
  int multiprocessors;
  // Shared memory in KB: the opt-in maximum of a kernel, the amount of a multiprocessor, and the amount that
  // the system reserves in each block.
  int shared_opt_in_kb, shared_kb, shared_reserved_kb;
  int threads, blocks;  // resident on a multiprocessor
};

// Returns null for an unknown name.
const GpuLimits* find_gpu(std::string_view name);

std::string known_gpus();  // "t4, a100, ..."

// The limits of the selected GPU, or the executor's own if none is selected.
const GpuLimits& limits();

}  // namespace simt
