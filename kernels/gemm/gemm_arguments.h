// Argument checks and packing, which every rung of the ladder does before its kernel.
#pragma once

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/gemm/gemm.h>

namespace rondo {

// The checked arguments of gemm(). op(A)(i, l) is a[i * a_stride + l], or a[l * a_stride + i] if A is
// transposed. The same holds for B. T is the type of A and B, and C that of c; void if it is known at run
// time.
template <class T, class C = T>
struct GemmArgumentsOf {
  using Element = T;
  using Result = C;
  int64_t m, n, k;
  const T* a;
  const T* b;
  C* c;
  int64_t a_stride, b_stride, c_stride;
  bool transpose_a, transpose_b;
  float alpha, beta;
  const float* bias;  // null for none
  bool relu;
  Math math;
};
using GemmArguments = GemmArgumentsOf<float>;

// What a function needs its workspace for. `none`: it does not split the sum over k, and has only Math::fp32.
// `stream_k`: gemm_tc_09_workspace_bytes(shape), and only Math::fp32. `parts`: of the sum;
// gemm_workspace_bytes(shape). `all`: whatever gemm() chooses; gemm_workspace_bytes(shape, options, type).
enum class GemmWorkspace { none, stream_k, parts, all };

// Makes all checks of gemm.h, then fills `arguments`. `name` is the first word of the messages.
template <class T, class C>
Status check_gemm(const char* name, GemmWorkspace needed, MatrixView<C> c, MatrixView<const T> a,
                  MatrixView<const T> b, const GemmOptions& options, const Workspace& workspace,
                  GemmArgumentsOf<T, C>* arguments);

}  // namespace rondo
