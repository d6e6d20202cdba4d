// cp.async: asynchronous copies from global to shared memory, which overlap with arithmetic. The instruction
// needs sm_80 or newer. On sm_75 cp_async() is a load and a store, complete when it returns, and the other
// two functions do nothing.
//
//   cp_async<16>(to, from, valid)   starts one copy of 4, 8 or 16 bytes, aligned to its size. If `valid` is
//                                   false, writes zeros and does not read `from`; tiles use this for their
//                                   tails. The CPU executor also has 64 and 256 bytes, aligned to 16.
//                                   There is no instruction for 2 bytes: cp_async<2>() is a load and a store,
//                                   complete when it returns.
//   cp_async_commit()               closes the calling thread's current group of copies.
//   cp_async_wait<N>()              waits until at most N of the thread's newest groups are pending. Copies
//                                   by *other* threads are visible only after a barrier in addition.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#ifdef __SIMT__
#include <simt/async_copy.h>
#endif

namespace rondo::ptx {

template <int Bytes>
__device__ __forceinline__ void cp_async(void* to_shared, const void* from_global, bool valid) {
  if constexpr (Bytes == 2) {
    *static_cast<unsigned short*>(to_shared) = valid ? *static_cast<const unsigned short*>(from_global) : 0;
  } else {
#ifdef __SIMT__
    simt::async_copy<Bytes>(to_shared, from_global, valid);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
    using Chunk = std::conditional_t<Bytes == 4, unsigned, std::conditional_t<Bytes == 8, uint2, uint4>>;
    Chunk chunk = {};
    if (valid) chunk = *static_cast<const Chunk*>(from_global);
    *static_cast<Chunk*>(to_shared) = chunk;
#else
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(to_shared));
    const int read = valid ? Bytes : 0;
    if constexpr (Bytes == 16)  // .cg bypasses L1: a tile is read once per block
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from_global), "r"(read)
                   : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from_global), "n"(Bytes),
                   "r"(read)
                   : "memory");
#endif
  }
}

__device__ __forceinline__ void cp_async_commit() {
#ifdef __SIMT__
  simt::async_commit();
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

template <int Groups>
__device__ __forceinline__ void cp_async_wait() {
#ifdef __SIMT__
  simt::async_wait(Groups);
#elif !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
#endif
}

}  // namespace rondo::ptx
