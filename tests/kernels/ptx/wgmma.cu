// One kernel for each wrapper of kernels/core/ptx/wgmma.cuh; see cp_async.cu.
#include <rondo/kernels/core/ptx/wgmma.cuh>

namespace ptx = rondo::ptx;

extern "C" {

__global__ void wgmma_fence() { ptx::wgmma_fence(); }
__global__ void wgmma_commit() { ptx::wgmma_commit(); }
__global__ void wgmma_wait_0() { ptx::wgmma_wait<0>(); }
__global__ void wgmma_wait_2() { ptx::wgmma_wait<2>(); }
}
