// ldmatrix and stmatrix: a warp loads or stores 8 x 8 matrices of 16-bit elements, whose rows are 16
// contiguous bytes in shared memory. The lanes 8 i to 8 i + 7 hold the addresses of the rows of matrix i, and
// register i receives it:
//
//   lane 4 r + c has elements (r, 2 c) and (r, 2 c + 1); transposed, elements (2 c, r) and (2 c + 1, r)
//
// A row of four 32-bit elements is loaded like eight of 16 bits: lane 4 r + c receives element (r, c).
//
// All 32 lanes call it together. `Count` instructions are issued at once; rows[i] is the lane's address for
// instruction i, a multiple of 16 bytes. A row is read by one wavefront with seven others of its matrix if
// the eight lie in different groups of four banks. Source: PTX ISA, "ldmatrix" (sm_75) and "stmatrix"
// (sm_90).
#pragma once

#include <cuda_runtime.h>

#ifdef __SIMT__
#include <simt/tensor_core.h>
#endif

namespace rondo::ptx {

template <bool transposed, int Count>
__device__ __forceinline__ void ldmatrix_x4(unsigned (&to)[Count][4], const void* const (&rows)[Count]) {
#ifdef __SIMT__
  simt::load_matrices(to[0], rows, Count, 4, transposed);
#else
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(rows[i]));
    if constexpr (transposed)
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(to[i][0]), "=r"(to[i][1]), "=r"(to[i][2]), "=r"(to[i][3])
                   : "r"(row)
                   : "memory");
    else
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(to[i][0]), "=r"(to[i][1]), "=r"(to[i][2]), "=r"(to[i][3])
                   : "r"(row)
                   : "memory");
  }
#endif
}

}  // namespace rondo::ptx
