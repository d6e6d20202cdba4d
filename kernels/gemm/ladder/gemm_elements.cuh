// Access to single elements of the operands, for the rungs that load one value at a time.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/gemm/epilogue.cuh>

namespace rondo {

// op(A)(i, l) and op(B)(l, j)
template <class T>
__device__ __forceinline__ T element_of_a(const GemmArgumentsOf<T>& g, int64_t i, int64_t l) {
  return g.transpose_a ? g.a[l * g.a_stride + i] : g.a[i * g.a_stride + l];
}
template <class T>
__device__ __forceinline__ T element_of_b(const GemmArgumentsOf<T>& g, int64_t l, int64_t j) {
  return g.transpose_b ? g.b[j * g.b_stride + l] : g.b[l * g.b_stride + j];
}

// Stores C(i, j); `sum` is the sum over l of op(A)(i, l) * op(B)(l, j).
template <class T>
__device__ __forceinline__ void store_result(const GemmArgumentsOf<T>& g, int64_t i, int64_t j, float sum) {
  T* c = g.c + i * g.c_stride + j;
  *c = static_cast<T>(unaligned_epilogue(g).value(sum, j, c));
}

// The same, if C has the element.
template <class T>
__device__ __forceinline__ void store_result_inside(const GemmArgumentsOf<T>& g, int64_t i, int64_t j,
                                                    float sum) {
  if (i < g.m && j < g.n) store_result(g, i, j, sum);
}

}  // namespace rondo
