// shared_memory<T>(): the block's dynamic shared memory as a struct.
//
// Every kernel declares one `struct Shared` and launches with sizeof(Shared) bytes. On a GPU, dynamic shared
// memory allows more than 48 KB per block and an alignment of 1024 bytes, the period of the widest swizzle.
// On the CPU executor it is a heap allocation, so the address sanitizer detects an index out of range.
#pragma once

#include <cuda_runtime.h>

namespace rondo {

template <class T>
__device__ __forceinline__ T& shared_memory() {
#ifdef __SIMT__
  return *static_cast<T*>(simt::shared_memory(sizeof(T)));
#else
  extern __shared__ __align__(1024) unsigned char rondo_shared_bytes[];
  return *reinterpret_cast<T*>(rondo_shared_bytes);
#endif
}

}  // namespace rondo
