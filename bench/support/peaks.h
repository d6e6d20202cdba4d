// The two ceilings of a device, measured in the process that reports a share of them: data sheets promise
// what a given machine with its clocks, its power limit and its neighbours does not hold.
#pragma once

#include <string>

namespace rondo::bench {

struct Peaks {
  double copy_bytes_per_second = 0;  // read + written, buffers far larger than the L2 cache
  std::string copy_by;               // what was fastest: "cudaMemcpyAsync" or "copy kernel"
  double fma_flops_per_second = 0;   // fp32, two per fused multiply-add, from registers
};

// Of the current device; measured at the first call for that device, which takes a fraction of a second.
const Peaks& peaks();

}  // namespace rondo::bench
