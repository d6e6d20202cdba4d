// mma.cuh for compute capability 7.5, where a product of K = 16 is two of K = 8; see mma.cu.
#include <rondo/kernels/core/ptx/mma.cuh>

extern "C" __global__ void multiply_fp16(float* d, unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                         unsigned b0, unsigned b1, float d0, float d1, float d2, float d3) {
  float sums[1][1][4] = {{{d0, d1, d2, d3}}};
  const unsigned a[1][4] = {{a0, a1, a2, a3}}, b[1][2] = {{b0, b1}};
  rondo::ptx::mma<__half>(sums, a, b);
  for (int i = 0; i < 4; ++i) d[i] = sums[0][0][i];
}
