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

__device__ __forceinline__ void mbarrier_init(Mbarrier* barrier, unsigned count,
                                              [[maybe_unused]] Place place = Place::current()) {
#ifdef __SIMT__
  simt::mbarrier_init(barrier, count, place);
#else
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
  RONDO_SM90_ASM("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address), "r"(count) : "memory");
#endif
}

__device__ __forceinline__ void mbarrier_invalidate(Mbarrier* barrier,
                                                    [[maybe_unused]] Place place = Place::current()) {
#ifdef __SIMT__
  simt::mbarrier_invalidate(barrier, place);
#else
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
  RONDO_SM90_ASM("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(address) : "memory");
#endif
}

__device__ __forceinline__ void mbarrier_init_fence() {
#ifdef __SIMT__
  simt::mbarrier_init_fence();
#else
  RONDO_SM90_ASM("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

__device__ __forceinline__ void mbarrier_arrive(Mbarrier* barrier,
                                                [[maybe_unused]] Place place = Place::current()) {
#ifdef __SIMT__
  simt::mbarrier_arrive(barrier, place);
#else
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
  RONDO_SM90_ASM("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
#endif
}

__device__ __forceinline__ void mbarrier_arrive_expect_tx(Mbarrier* barrier, unsigned bytes,
                                                          [[maybe_unused]] Place place = Place::current()) {
#ifdef __SIMT__
  simt::mbarrier_arrive_expect_tx(barrier, bytes, place);
#else
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
  RONDO_SM90_ASM("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes)
                 : "memory");
#endif
}

// Whether the phase has completed; may suspend the thread for a time before it returns false. The executor
// returns when it has completed.
__device__ __forceinline__ bool mbarrier_try_wait(Mbarrier* barrier, unsigned parity,
                                                  [[maybe_unused]] Place place = Place::current()) {
#ifdef __SIMT__
  simt::mbarrier_wait(barrier, parity, place);
  return true;
#else
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(barrier));
  unsigned completed = 0;
  RONDO_SM90_ASM(
      "{.reg .pred completed; mbarrier.try_wait.parity.shared::cta.b64 completed, [%1], %2; "
      "selp.u32 %0, 1, 0, completed;}"
      : "=r"(completed)
      : "r"(address), "r"(parity)
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
#ifdef __SIMT__
  simt::async_proxy_fence();
#else
  RONDO_SM90_ASM("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

}  // namespace rondo::ptx
