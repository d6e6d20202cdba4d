// Replaces kernels/core/shared.cuh when tools/sass-report determines shared memory sizes: the same memory as
// a static array, whose size appears in the PTX. No code that runs is compiled with it.
#pragma once

#include <cuda_runtime.h>

namespace rondo {

template <class T>
__device__ __forceinline__ T& shared_memory() {
  __shared__ __align__(128) unsigned char rondo_shared_bytes[sizeof(T)];
  return *reinterpret_cast<T*>(rondo_shared_bytes);
}

}  // namespace rondo
