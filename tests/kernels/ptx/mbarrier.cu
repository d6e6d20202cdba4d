// One kernel for each wrapper of kernels/core/ptx/mbarrier.cuh; see cp_async.cu.
#include <rondo/kernels/core/ptx/mbarrier.cuh>

namespace ptx = rondo::ptx;

namespace {

__device__ ptx::Mbarrier* at(unsigned barrier) {
  extern __shared__ __align__(16) unsigned char shared[];
  return reinterpret_cast<ptx::Mbarrier*>(shared + barrier);
}

}  // namespace

extern "C" {

__global__ void mbarrier_init(unsigned barrier, unsigned count) { ptx::mbarrier_init(at(barrier), count); }
__global__ void mbarrier_invalidate(unsigned barrier) { ptx::mbarrier_invalidate(at(barrier)); }
__global__ void mbarrier_init_fence() { ptx::mbarrier_init_fence(); }
__global__ void mbarrier_arrive(unsigned barrier) { ptx::mbarrier_arrive(at(barrier)); }
__global__ void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes) {
  ptx::mbarrier_arrive_expect_tx(at(barrier), bytes);
}
__global__ void mbarrier_try_wait(unsigned* completed, unsigned barrier, unsigned parity) {
  *completed = ptx::mbarrier_try_wait(at(barrier), parity);
}
__global__ void async_proxy_fence() { ptx::async_proxy_fence(); }
}
