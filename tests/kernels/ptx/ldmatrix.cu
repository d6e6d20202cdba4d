// One kernel for each form of the wrapper of kernels/core/ptx/ldmatrix.cuh; see cp_async.cu.
#include <rondo/kernels/core/ptx/ldmatrix.cuh>

namespace {

template <bool transposed>
__device__ void load(unsigned* to, unsigned row) {
  extern __shared__ __align__(16) unsigned char shared[];
  const void* const rows[1] = {shared + row};
  unsigned registers[1][4];
  rondo::ptx::ldmatrix_x4<transposed>(registers, rows);
  for (int i = 0; i < 4; ++i) to[i] = registers[0][i];
}

}  // namespace

extern "C" {

__global__ void ldmatrix_x4_0(unsigned* to, unsigned row) { load<false>(to, row); }
__global__ void ldmatrix_x4_1(unsigned* to, unsigned row) { load<true>(to, row); }
}
