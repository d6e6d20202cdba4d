// The properties of a device that plans depend on.
#pragma once

#include <rondo/kernels/core/status.h>

namespace rondo {

struct DeviceProperties {
  int multiprocessors = 0;
  int shared_bytes_per_block = 0;  // maximum per block: 64 KB on sm_75, 227 KB on sm_90
  bool vectors = false;            // true on the CPU executor: threads have vector registers
  bool wgmma = false;              // compute capability 9.0 and a build for it; the executor: with SIMT_GPU
  // Vector tiles also have the arithmetics of tensor cores, except tf32x3. On the executor, without SIMT_GPU.
  bool vectors_for_tensor_cores = false;
};
// Properties of the current device.
Status device_properties(DeviceProperties* properties);

}  // namespace rondo
