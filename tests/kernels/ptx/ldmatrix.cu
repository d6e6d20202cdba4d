// One kernel for each wrapper of kernels/core/ptx/ldmatrix.cuh, as it is and transposed; see cp_async.cu.
#include <rondo/kernels/core/ptx/ldmatrix.cuh>

namespace {

namespace ptx = rondo::ptx;
extern __shared__ __align__(16) unsigned char shared[];

template <int n, bool transposed>
__device__ void ldmatrix(unsigned* to, unsigned row) {
  const void* const rows[1] = {shared + row};
  unsigned registers[1][n];
  ptx::ldmatrix<transposed>(registers, rows);
  for (int i = 0; i < n; ++i) to[i] = registers[0][i];
}

template <int n, bool transposed>
__device__ void stmatrix(unsigned row, unsigned r0, unsigned r1, unsigned r2, unsigned r3) {
  void* const rows[1] = {shared + row};
  const unsigned all[4] = {r0, r1, r2, r3};
  unsigned registers[1][n];
  for (int i = 0; i < n; ++i) registers[0][i] = all[i];
  ptx::stmatrix<transposed>(rows, registers);
}

}  // namespace

#define KERNELS(n, transposed)                                                                    \
  extern "C" __global__ void ldmatrix_x##n##_##transposed(unsigned* to, unsigned row) {           \
    ldmatrix<n, transposed>(to, row);                                                             \
  }                                                                                               \
  extern "C" __global__ void stmatrix_x##n##_##transposed(unsigned row, unsigned r0, unsigned r1, \
                                                          unsigned r2, unsigned r3) {             \
    stmatrix<n, transposed>(row, r0, r1, r2, r3);                                                 \
  }

KERNELS(1, 0)
KERNELS(1, 1)
KERNELS(2, 0)
KERNELS(2, 1)
KERNELS(4, 0)
KERNELS(4, 1)
