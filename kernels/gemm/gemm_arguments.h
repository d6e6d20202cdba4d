// What every rung of the ladder does before its kernel: check the arguments of gemm(), and pack them.
#pragma once

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/gemm/gemm.h>

#include <initializer_list>

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

// Checks everything that gemm.h promises to check, then fills `arguments`. `name` begins the messages.
Status check_gemm(const char* name, MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                  const GemmOptions& options, const Workspace& workspace, GemmArguments* arguments);

// Do [a, a + a_bytes) and [b, b + b_bytes) share a byte?
bool overlap(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes);

// A piece of memory that a message can name.
struct NamedMemory {
  const char* name;
  const void* data;
  int64_t bytes;
};
// A workspace of any size, without which the operation works too: it is not null unless empty, aligned to 16
// bytes, and overlaps none of `others`.
Status check_optional_workspace(const char* name, const Workspace& workspace,
                                std::initializer_list<NamedMemory> others);

}  // namespace rondo
