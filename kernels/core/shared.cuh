// shared_memory<T>(): the block's dynamic shared memory as one struct.
//
// Every kernel declares one `struct Shared` and launches with sizeof(Shared) bytes. Dynamic memory lets a
// block have more than 48 KB and an alignment of 128 bytes on the GPU; on the CPU executor it is a heap
// block, so that the address sanitizer sees an index that leaves it.
#pragma once

#include <cuda_runtime.h>

namespace rondo {

template <class T>
__device__ __forceinline__ T& shared_memory() {
#ifdef __SIMT__
  return *static_cast<T*>(simt::shared_memory(sizeof(T)));
#else
  extern __shared__ __align__(128) unsigned char rondo_shared_bytes[];
  return *reinterpret_cast<T*>(rondo_shared_bytes);
#endif
}

}  // namespace rondo
