// Argument checks and packing, which every rung of the ladder does before its kernel.
#pragma once

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/gemm/gemm.h>

namespace rondo {

// The checked arguments of gemm(). op(A)(i, l) is a[i * a_stride + l], or a[l * a_stride + i] if A is
// transposed. The same holds for B.
struct GemmArguments {
  int64_t m, n, k;
  const float* a;
  const float* b;
  float* c;
  int64_t a_stride, b_stride, c_stride;
  bool transpose_a, transpose_b;
  float alpha, beta;
  const float* bias;  // null for none
  bool relu;
};

// Makes all checks of gemm.h, then fills `arguments`. `name` is the first word of the messages. Rungs that
// split the sum over k need gemm_workspace_bytes(); the others need no workspace.
enum class SplitsK : bool { no, yes };
Status check_gemm(const char* name, SplitsK splits_k, MatrixView<float> c, MatrixView<const float> a,
                  MatrixView<const float> b, const GemmOptions& options, const Workspace& workspace,
                  GemmArguments* arguments);

}  // namespace rondo
