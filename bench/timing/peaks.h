// The peaks of a device, measured in the process that reports shares of them. Data sheet values ignore
// the actual clocks, power limit and other load of a machine.
#pragma once

#include <rondo/kernels/core/arithmetic.h>

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

// FLOP/s of the tensor cores of the current device for products in this arithmetic, with sums in fp32: the
// faster of mma.sync and, where the device has it, wgmma, from operands that are loaded once. In tf32x3 a
// product is three of tf32. 0 in fp32, if the device does not have the arithmetic, and on the CPU executor,
// which computes each instruction in software. The first call for a device and an arithmetic measures it.
double tensor_flops_per_second(Arithmetic arithmetic);

}  // namespace rondo::bench
