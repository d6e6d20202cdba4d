// Kernels for the forms and shapes of kernels/core/ptx/wgmma_shapes.cuh; see cp_async.cu. All shapes of one
// form, and all forms of four shapes, among them 128, 192 and 256, which the kernels use.
#include <rondo/kernels/core/ptx/wgmma.cuh>

namespace {

using rondo::ptx::Tf32;
using rondo::ptx::WgmmaOptions;

template <class Element, int N, WgmmaOptions options>
__device__ void wgmma_shared(float* d, uint64_t a, uint64_t b, int add) {
  float sums[N / 2];
  for (int i = 0; i < N / 2; ++i) sums[i] = d[i];
  rondo::ptx::wgmma<Element, N, options>(sums, a, b, add != 0);
  for (int i = 0; i < N / 2; ++i) d[i] = sums[i];
}

template <class Element, int N, WgmmaOptions options>
__device__ void wgmma_registers(float* d, unsigned a0, unsigned a1, unsigned a2, unsigned a3, uint64_t b,
                                int add) {
  float sums[N / 2];
  const unsigned a[4] = {a0, a1, a2, a3};
  for (int i = 0; i < N / 2; ++i) sums[i] = d[i];
  rondo::ptx::wgmma<Element, N, options>(sums, a, b, add != 0);
  for (int i = 0; i < N / 2; ++i) d[i] = sums[i];
}

constexpr WgmmaOptions kPlain = {}, kNegateA = {.negate_a = true}, kNegateB = {.negate_b = true},
                       kTransposeA = {.transpose_a = true}, kTransposeB = {.transpose_b = true};

}  // namespace

#define SHARED(name, Element, n, options)                                                           \
  extern "C" __global__ void wgmma_shared_##name##_##n(float* d, uint64_t a, uint64_t b, int add) { \
    wgmma_shared<Element, n, options>(d, a, b, add);                                                \
  }
#define REGISTERS(name, Element, n, options)                                                               \
  extern "C" __global__ void wgmma_registers_##name##_##n(float* d, unsigned a0, unsigned a1, unsigned a2, \
                                                          unsigned a3, uint64_t b, int add) {              \
    wgmma_registers<Element, n, options>(d, a0, a1, a2, a3, b, add);                                       \
  }

SHARED(bf16, __nv_bfloat16, 8, kPlain)
SHARED(bf16, __nv_bfloat16, 16, kPlain)
SHARED(bf16, __nv_bfloat16, 24, kPlain)
SHARED(bf16, __nv_bfloat16, 32, kPlain)
SHARED(bf16, __nv_bfloat16, 40, kPlain)
SHARED(bf16, __nv_bfloat16, 48, kPlain)
SHARED(bf16, __nv_bfloat16, 56, kPlain)
SHARED(bf16, __nv_bfloat16, 64, kPlain)
SHARED(bf16, __nv_bfloat16, 72, kPlain)
SHARED(bf16, __nv_bfloat16, 80, kPlain)
SHARED(bf16, __nv_bfloat16, 88, kPlain)
SHARED(bf16, __nv_bfloat16, 96, kPlain)
SHARED(bf16, __nv_bfloat16, 104, kPlain)
SHARED(bf16, __nv_bfloat16, 112, kPlain)
SHARED(bf16, __nv_bfloat16, 120, kPlain)
SHARED(bf16, __nv_bfloat16, 128, kPlain)
SHARED(bf16, __nv_bfloat16, 136, kPlain)
SHARED(bf16, __nv_bfloat16, 144, kPlain)
SHARED(bf16, __nv_bfloat16, 152, kPlain)
SHARED(bf16, __nv_bfloat16, 160, kPlain)
SHARED(bf16, __nv_bfloat16, 168, kPlain)
SHARED(bf16, __nv_bfloat16, 176, kPlain)
SHARED(bf16, __nv_bfloat16, 184, kPlain)
SHARED(bf16, __nv_bfloat16, 192, kPlain)
SHARED(bf16, __nv_bfloat16, 200, kPlain)
SHARED(bf16, __nv_bfloat16, 208, kPlain)
SHARED(bf16, __nv_bfloat16, 216, kPlain)
SHARED(bf16, __nv_bfloat16, 224, kPlain)
SHARED(bf16, __nv_bfloat16, 232, kPlain)
SHARED(bf16, __nv_bfloat16, 240, kPlain)
SHARED(bf16, __nv_bfloat16, 248, kPlain)
SHARED(bf16, __nv_bfloat16, 256, kPlain)
SHARED(f16, __half, 64, kTransposeA)
SHARED(f16, __half, 256, kTransposeB)
SHARED(tf32, Tf32, 64, kNegateA)
SHARED(tf32, Tf32, 256, kNegateB)
REGISTERS(bf16, __nv_bfloat16, 64, kNegateB)
REGISTERS(bf16, __nv_bfloat16, 256, kTransposeB)
REGISTERS(f16, __half, 64, kNegateA)
REGISTERS(f16, __half, 256, kTransposeB)
REGISTERS(tf32, Tf32, 64, kNegateA)
REGISTERS(tf32, Tf32, 256, kNegateB)
SHARED(f16, __half, 128, kPlain)
SHARED(tf32, Tf32, 128, kPlain)
REGISTERS(f16, __half, 128, kPlain)
REGISTERS(tf32, Tf32, 128, kPlain)
REGISTERS(bf16, __nv_bfloat16, 128, kPlain)
SHARED(f16, __half, 192, kPlain)
SHARED(tf32, Tf32, 192, kPlain)
REGISTERS(f16, __half, 192, kPlain)
REGISTERS(tf32, Tf32, 192, kPlain)
REGISTERS(bf16, __nv_bfloat16, 192, kPlain)
