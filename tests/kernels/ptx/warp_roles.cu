// One kernel for each wrapper of kernels/core/ptx/warp_roles.cuh; see cp_async.cu.
#include <rondo/kernels/core/ptx/warp_roles.cuh>

namespace ptx = rondo::ptx;

extern "C" {

__global__ void elect_one(unsigned* elected, unsigned mask) { *elected = ptx::elect_one(mask); }
__global__ void release_registers_40() { ptx::release_registers<40>(); }
__global__ void request_registers_232() { ptx::request_registers<232>(); }
}
