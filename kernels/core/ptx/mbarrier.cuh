// mbarrier: a barrier in shared memory that counts arrivals of threads and bytes of asynchronous copies.
// Needs sm_90.
//
// A phase of a barrier completes when all its arrivals have happened and all bytes that were announced with
// mbarrier_arrive_expect_tx() have been copied. Then the next phase begins. Phases have parity 0, 1, 0, ...
//
//   mbarrier_init(barrier, count)               count: arrivals of each phase. One thread initializes, then
//   mbarrier_init_fence()                       calls the fence, then the block passes a __syncthreads().
//   mbarrier_invalidate(barrier)                after the last wait, before its memory is used again.
//   mbarrier_arrive(barrier)
//   mbarrier_arrive_expect_tx(barrier, bytes)   announces `bytes` of copies to the current phase, and
//                                               arrives.
//   mbarrier_wait(barrier, parity)              until the phase of this parity has completed. On a new
//                                               barrier a wait for parity 1 returns at once, as if for the
//                                               phase before.
//   async_proxy_fence()                         each thread that wrote to shared memory calls it before the
//                                               barrier after which a bulk copy or a wgmma reads that memory.
#pragma once

#include <rondo/kernels/core/hopper.cuh>

#ifdef __SIMT__
#include <simt/mbarrier.h>
#endif

namespace rondo::ptx {

// In shared memory; to be changed by these functions only.
struct alignas(8) Mbarrier {
  unsigned long long state;
};

namespace detail {
#ifndef __SIMT__
__device__ __forceinline__ unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}
#endif
}  // namespace detail

__device__ __forceinline__ void mbarrier_init(Mbarrier* barrier, unsigned count,
                                              [[maybe_unused]] Place place = Place::current()) {
  RONDO_SIMT_OR_SM90_ASM(simt::mbarrier_init(barrier, count, place),
                         "mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(detail::shared_address(barrier)),
                         "r"(count)
                         : "memory");
}

__device__ __forceinline__ void mbarrier_invalidate(Mbarrier* barrier,
                                                    [[maybe_unused]] Place place = Place::current()) {
  RONDO_SIMT_OR_SM90_ASM(simt::mbarrier_invalidate(barrier, place),
                         "mbarrier.inval.shared::cta.b64 [%0];" ::"r"(detail::shared_address(barrier))
                         : "memory");
}

__device__ __forceinline__ void mbarrier_init_fence() {
  RONDO_SIMT_OR_SM90_ASM(simt::mbarrier_init_fence(), "fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ __forceinline__ void mbarrier_arrive(Mbarrier* barrier,
                                                [[maybe_unused]] Place place = Place::current()) {
  RONDO_SIMT_OR_SM90_ASM(simt::mbarrier_arrive(barrier, place),
                         "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(detail::shared_address(barrier))
                         : "memory");
}

__device__ __forceinline__ void mbarrier_arrive_expect_tx(Mbarrier* barrier, unsigned bytes,
                                                          [[maybe_unused]] Place place = Place::current()) {
  RONDO_SIMT_OR_SM90_ASM(
      simt::mbarrier_arrive_expect_tx(barrier, bytes, place),
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(detail::shared_address(barrier)),
      "r"(bytes)
      : "memory");
}

// Whether the phase has completed; may suspend the thread for a time before it returns false. The executor
// returns when it has completed.
__device__ __forceinline__ bool mbarrier_try_wait(Mbarrier* barrier, unsigned parity,
                                                  [[maybe_unused]] Place place = Place::current()) {
#ifdef __SIMT__
  simt::mbarrier_wait(barrier, parity, place);
  return true;
#else
  unsigned completed = 0;
  RONDO_SM90_ASM(
      "{.reg .pred completed; mbarrier.try_wait.parity.shared::cta.b64 completed, [%1], %2; "
      "selp.u32 %0, 1, 0, completed;}"
      : "=r"(completed)
      : "r"(detail::shared_address(barrier)), "r"(parity)
      : "memory");
  return completed != 0;
#endif
}

__device__ __forceinline__ void mbarrier_wait(Mbarrier* barrier, unsigned parity,
                                              Place place = Place::current()) {
  while (!mbarrier_try_wait(barrier, parity, place)) {
  }
}

__device__ __forceinline__ void async_proxy_fence() {
  RONDO_SIMT_OR_SM90_ASM(simt::async_proxy_fence(), "fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace rondo::ptx
