// mma.sync: products of small matrices by tensor cores. d += a * b for a 16 x K matrix a and a K x 8 matrix
// b, with fp32 sums. A warp holds each matrix in its registers, as a *fragment*. With lane = 4 g + t:
//
//   tf32, K = 8, one element in a register     bf16 and fp16, K = 16, two elements in a register
//   a[0]: row g,     k = t                     a[0]: row g,     k = 2 t, 2 t + 1
//   a[1]: row g + 8, k = t                     a[1]: row g + 8, k = 2 t, 2 t + 1
//   a[2]: row g,     k = t + 4                 a[2]: row g,     k = 2 t + 8, 2 t + 9
//   a[3]: row g + 8, k = t + 4                 a[3]: row g + 8, k = 2 t + 8, 2 t + 9
//   b[0]: k = t,     column g                  b[0]: k = 2 t,     2 t + 1, column g
//   b[1]: k = t + 4, column g                  b[1]: k = 2 t + 8, 2 t + 9, column g
//   d[0], d[1]: row g, columns 2 t, 2 t + 1    the same
//   d[2], d[3]: row g + 8                      the same
//
// So a fragment of a is four 8 x 16-byte matrices for ldmatrix, and one of b two.
//
// Numerics: products are exact; how sums are rounded is not documented (see simt/tensor_core.h).
// Source: PTX ISA, "Matrix Fragments for mma.m16n8k8" and "mma.m16n8k16". Needs sm_80; fp16 needs sm_75,
// where it is two products of K = 8.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <type_traits>

#ifdef __SIMT__
#include <simt/tensor_core.h>
#endif

namespace rondo::ptx {

// The element type of tf32 fragments.
struct Tf32 {};

// The elements of the fragments of T matrices.
template <class T>
using FragmentOf = std::conditional_t<std::is_same_v<T, float>, Tf32, T>;

namespace detail {

#ifdef __SIMT__
template <class Element>
inline constexpr simt::TensorFormat kFormat =
    std::is_same_v<Element, Tf32>            ? simt::TensorFormat::tf32
    : std::is_same_v<Element, __nv_bfloat16> ? simt::TensorFormat::bfloat16
                                             : simt::TensorFormat::float16;
#else
#define RONDO_MMA(shape, type)                                                        \
  asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type                \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

template <class Element>
__device__ __forceinline__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<Element, Tf32>)
    RONDO_MMA("m16n8k8", "tf32");
  else if constexpr (std::is_same_v<Element, __nv_bfloat16>)
    RONDO_MMA("m16n8k16", "bf16");
  else
    RONDO_MMA("m16n8k16", "f16");
#else
  if constexpr (std::is_same_v<Element, __half>) {
#pragma unroll
    for (int k = 0; k < 2; ++k)
      asm volatile(
          "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, "
          "%3};"
          : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
          : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
  } else {
    __trap();
  }
#endif
}
#undef RONDO_MMA
#endif

}  // namespace detail

// d[i][j] += a[i] * b[j] for M x N fragments. All 32 lanes call it together.
template <class Element, int M, int N>
__device__ __forceinline__ void mma(float (&d)[M][N][4], const unsigned (&a)[M][4],
                                    const unsigned (&b)[N][2]) {
#ifdef __SIMT__
  simt::tensor_multiply(detail::kFormat<Element>, {d[0][0], a[0], b[0], M, N});
#else
#pragma unroll
  for (int i = 0; i < M; ++i)
#pragma unroll
    for (int j = 0; j < N; ++j) detail::multiply<Element>(d[i][j], a[i], b[j]);
#endif
}

}  // namespace rondo::ptx
