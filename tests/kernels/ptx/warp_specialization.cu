// One kernel for each wrapper of kernels/core/ptx/warp_specialization.cuh; see cp_async.cu.
#include <rondo/kernels/core/ptx/warp_specialization.cuh>

namespace ptx = rondo::ptx;

extern "C" {

__global__ void elect_one(unsigned* elected, unsigned mask) { *elected = ptx::elect_one(mask); }
__global__ void warpgroup_reg_dealloc_40() { ptx::warpgroup_reg_dealloc<40>(); }
__global__ void warpgroup_reg_alloc_232() { ptx::warpgroup_reg_alloc<232>(); }
}
