// What every rung of the ladder does before its kernel: check the arguments of gemm(), and pack them.
#pragma once

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/gemm/gemm.h>

namespace rondo {

// The arguments of gemm(), checked. op(A)(i, l) is a[i * a_stride + l], or a[l * a_stride + i] when A is
// transposed; B likewise.
struct GemmArguments {
  int64_t m, n, k;
  const float* a;
  const float* b;
  float* c;
  int64_t a_stride, b_stride, c_stride;
  bool transpose_a, transpose_b;
  float alpha, beta;
  const float* bias;  // null: none
  bool relu;
};

// Checks everything that gemm.h promises to check, then fills `arguments`. `name` begins the messages. The
// rungs that split the sum over k need gemm_workspace_bytes(), the others no workspace.
enum class SplitsK : bool { no, yes };
Status check_gemm(const char* name, SplitsK splits_k, MatrixView<float> c, MatrixView<const float> a,
                  MatrixView<const float> b, const GemmOptions& options, const Workspace& workspace,
                  GemmArguments* arguments);

}  // namespace rondo
