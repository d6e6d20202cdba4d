// ldmatrix and stmatrix: a warp loads or stores 8 x 8 matrices of 16-bit elements, whose rows are 16
// contiguous bytes in shared memory. The lanes 8 i to 8 i + 7 hold the addresses of the rows of matrix i, and
// register i holds it:
//
//   lane             0          1          2          3          4     ...   31
//   elements         0,0 0,1    0,2 0,3    0,4 0,5    0,6 0,7    1,0 1,1     7,6 7,7   (row, column)
//   transposed       0,0 1,0    2,0 3,0    4,0 5,0    6,0 7,0    0,1 1,1     6,7 7,7
//
// So lane 4 r + c has (r, 2 c) and (r, 2 c + 1); transposed, (2 c, r) and (2 c + 1, r).
//
// A row of four 32-bit elements is loaded like eight of 16 bits: lane 4 r + c receives element (r, c).
//
// All 32 lanes call it together. `Count` instructions of one, two or four `Matrices` are issued at once;
// rows[i] is the lane's address for instruction i, a multiple of 16 bytes. With one or two matrices those of
// the lanes 8 and up, or 16 and up, are not used. A row is read by one wavefront with seven others of its
// matrix if the eight lie in different groups of four banks. Source: PTX ISA, "ldmatrix" (sm_75) and
// "stmatrix" (sm_90).
#pragma once

#include <cuda_runtime.h>

#include <rondo/kernels/core/hopper.cuh>

#ifdef __SIMT__
#include <simt/tensor_core.h>
#endif

namespace rondo::ptx {

// The instructions for matrices as they are, or transposed. `operands`: the text of the registers, for loads
// also of the address.
#define RONDO_LDMATRIX_ASM(count, operands, ...)                                       \
  if constexpr (transposed)                                                            \
    asm volatile("ldmatrix.sync.aligned.m8n8." count ".trans.shared.b16 " operands ";" \
                 : __VA_ARGS__                                                         \
                 : "r"(row)                                                            \
                 : "memory");                                                          \
  else                                                                                 \
    asm volatile("ldmatrix.sync.aligned.m8n8." count ".shared.b16 " operands ";"       \
                 : __VA_ARGS__                                                         \
                 : "r"(row)                                                            \
                 : "memory")
#define RONDO_STMATRIX_ASM(count, operands, ...)                                                           \
  if constexpr (transposed)                                                                                \
    RONDO_SM90_ASM("stmatrix.sync.aligned.m8n8." count ".trans.shared.b16 [%0], " operands ";" ::"r"(row), \
                   __VA_ARGS__                                                                             \
                   : "memory");                                                                            \
  else                                                                                                     \
    RONDO_SM90_ASM("stmatrix.sync.aligned.m8n8." count ".shared.b16 [%0], " operands ";" ::"r"(row),       \
                   __VA_ARGS__                                                                             \
                   : "memory")

template <bool transposed, int Count, int Matrices>
__device__ __forceinline__ void ldmatrix(unsigned (&to)[Count][Matrices], const void* const (&rows)[Count]) {
  static_assert(Matrices == 1 || Matrices == 2 || Matrices == 4);
#ifdef __SIMT__
  simt::load_matrices(to[0], rows, Count, Matrices, transposed);
#else
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(rows[i]));
    if constexpr (Matrices == 1) {
      RONDO_LDMATRIX_ASM("x1", "{%0}, [%1]", "=r"(to[i][0]));
    } else if constexpr (Matrices == 2) {
      RONDO_LDMATRIX_ASM("x2", "{%0, %1}, [%2]", "=r"(to[i][0]), "=r"(to[i][1]));
    } else {
      RONDO_LDMATRIX_ASM("x4", "{%0, %1, %2, %3}, [%4]", "=r"(to[i][0]), "=r"(to[i][1]), "=r"(to[i][2]),
                         "=r"(to[i][3]));
    }
  }
#endif
}

template <bool transposed, int Count, int Matrices>
__device__ __forceinline__ void stmatrix(void* const (&rows)[Count],
                                         const unsigned (&from)[Count][Matrices]) {
  static_assert(Matrices == 1 || Matrices == 2 || Matrices == 4);
#ifdef __SIMT__
  simt::store_matrices(from[0], rows, Count, Matrices, transposed);
#else
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(rows[i]));
    if constexpr (Matrices == 1) {
      RONDO_STMATRIX_ASM("x1", "{%1}", "r"(from[i][0]));
    } else if constexpr (Matrices == 2) {
      RONDO_STMATRIX_ASM("x2", "{%1, %2}", "r"(from[i][0]), "r"(from[i][1]));
    } else {
      RONDO_STMATRIX_ASM("x4", "{%1, %2, %3, %4}", "r"(from[i][0]), "r"(from[i][1]), "r"(from[i][2]),
                         "r"(from[i][3]));
    }
  }
#endif
}

#undef RONDO_LDMATRIX_ASM
#undef RONDO_STMATRIX_ASM

}  // namespace rondo::ptx
