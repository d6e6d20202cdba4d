// Argument checks and packing, which gemm() and every rung of the ladders do before their kernels.
#pragma once

#include <rondo/kernels/core/arithmetic.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/gemm/gemm_options.h>

namespace rondo {

// Where the matrices of an operand lie: `stride` elements from one to the next, or where the array `pointers`
// in device memory says. Its elements are T*, where T is the type of the operand.
struct OperandBatch {
  int64_t stride = 0;
  const void* pointers = nullptr;
};

// The products of gemm_strided_batched() and gemm_batched(). The residual has the stride of c.
struct GemmBatches {
  int64_t count = 1;
  OperandBatch a = {}, b = {}, c = {};
  const void* residual_pointers = nullptr;  // if c has pointers; null for none
};

// The checked arguments of gemm(). op(A)(i, l) is a[i * a_stride + l], or a[l * a_stride + i] if A is
// transposed. The same holds for B. T is the type of A and B, and C that of c; void if it is known at run
// time.
template <class T, class C = T>
struct GemmArgumentsOf {
  using Element = T;
  using Result = C;
  int64_t m, n, k;
  const T* a;  // null if the matrices have pointers
  const T* b;
  C* c;
  int64_t a_stride, b_stride, c_stride;
  bool transpose_a, transpose_b;
  float alpha, beta;
  const float* bias;  // null for none
  const C* residual;  // null for none; else in the layout of c, and beta is 0
  Activation activation;
  Arithmetic arithmetic;
  GemmBatches batches = {};  // more than one: by the pipelined kernel (fma/pipelined.cuh) without split-K
};
using GemmArguments = GemmArgumentsOf<float>;

// The bytes of workspace that a function needs for a product of factors of `type`.
using GemmWorkspaceBytes = int64_t(const GemmShape& shape, const GemmOptions& options, DType type);

// Makes all checks of gemm.h, then fills `arguments`. `name` is the first word of the messages. `needed`:
// null for a function without a workspace.
template <class T, class C>
Status check_gemm(const char* name, GemmWorkspaceBytes* needed, MatrixView<C> c, MatrixView<const T> a,
                  MatrixView<const T> b, const GemmOptions& options, const Workspace& workspace,
                  GemmArgumentsOf<T, C>* arguments);

// The checks of gemm_strided_batched() and gemm_batched().
template <class T, class C>
Status check_gemm(const char* name, MatrixBatchView<C> c, MatrixBatchView<const T> a,
                  MatrixBatchView<const T> b, const GemmOptions& options, GemmArgumentsOf<T, C>* arguments);
template <class T, class C>
Status check_gemm(const char* name, MatrixPointersView<C> c, MatrixPointersView<const T> a,
                  MatrixPointersView<const T> b, const GemmOptions& options,
                  GemmArgumentsOf<T, C>* arguments);

}  // namespace rondo
