// One kernel for each form of the wrapper of kernels/core/ptx/mma.cuh; see cp_async.cu. A product's results
// stay in its registers: d0 to d3 are the parameters before it and the results after it.
#include <rondo/kernels/core/ptx/mma.cuh>

namespace {

template <class Element>
__device__ void multiply(float* d, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                         unsigned b1, float d0, float d1, float d2, float d3) {
  float sums[1][1][4] = {{{d0, d1, d2, d3}}};
  const unsigned a[1][4] = {{a0, a1, a2, a3}}, b[1][2] = {{b0, b1}};
  rondo::ptx::mma<Element>(sums, a, b);
  for (int i = 0; i < 4; ++i) d[i] = sums[0][0][i];
}

}  // namespace

extern "C" {

__global__ void multiply_tf32(float* d, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                              unsigned b1, float d0, float d1, float d2, float d3) {
  multiply<rondo::ptx::Tf32>(d, a0, a1, a2, a3, b0, b1, d0, d1, d2, d3);
}
__global__ void multiply_bf16(float* d, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                              unsigned b1, float d0, float d1, float d2, float d3) {
  multiply<__nv_bfloat16>(d, a0, a1, a2, a3, b0, b1, d0, d1, d2, d3);
}
__global__ void multiply_fp16(float* d, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0,
                              unsigned b1, float d0, float d1, float d2, float d3) {
  multiply<__half>(d, a0, a1, a2, a3, b0, b1, d0, d1, d2, d3);
}
}
