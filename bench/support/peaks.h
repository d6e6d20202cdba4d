// The two peaks of a device, measured in the process that reports shares of them. Data sheet values ignore
// the actual clocks, power limit and other load of a machine.
#pragma once

#include <string>

namespace rondo::bench {

struct Peaks {
  double copy_bytes_per_second = 0;  // bytes read + written, with buffers far larger than the L2 cache
  std::string copy_by;               // the fastest method: "cudaMemcpyAsync" or "copy kernel"
  double fma_flops_per_second = 0;   // fp32, two per fused multiply-add, from registers
};

// The peaks of the current device. The first call for a device measures them, which takes a fraction of a
// second.
const Peaks& peaks();

}  // namespace rondo::bench
