// C = relu(alpha * op(A) * op(B) + beta * C + bias): the matrix product, in strict fp32.
//
// Source: the BLAS operation SGEMM (Dongarra et al., 1990), with two additions: a bias per column,
// and a ReLU.
#pragma once

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

namespace rondo {

struct GemmOptions {
  bool transpose_a = false;  // op(A) = A^T: the view `a` is k x m
  bool transpose_b = false;  // op(B) = B^T: the view `b` is n x k
  float alpha = 1;           // 0: A and B are not read, whatever they hold (their views are checked)
  float beta = 0;                  // 0: C is not read, whatever it holds
  VectorView<const float> bias{};  // n values, added to every row; none when its data is null
  bool relu = false;               // at the very end: max(value, 0); a NaN stays a NaN
};

// m, n, k of a product; the number of summands of one result is k.
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// c (m x n) = relu(alpha * op(a) op(b) + beta * c + bias); op(a) is m x k, op(b) is k x n.
//
// Layout: row-major, any stride of at least the columns, any alignment of whole floats. 16-byte alignment of
//   pointers and strides, and sizes divisible by 4, make the copies into shared memory four times as wide.
// Empty: m or n zero does nothing; k zero computes relu(beta * c + bias).
// Aliasing: c overlaps neither a, b nor the workspace; a and b may overlap. Different columns of one matrix
// do
//   not overlap.
// Numerics: products and sums in fp32, k ascending; a product and its sum are rounded once (a fused
//   multiply-add) on GPUs, and on CPUs where the build has the FMA instruction. The error of a result is at
//   most about k * 2^-24 * sum |a_i b_i|. Large k (see split_k() in gemm_config.h) is summed in parts, which
//   are then added in order.
// Determinism: the bits depend on the shape and the options; not on the device, its number of
//   multiprocessors, the alignment or the tile that was chosen.
// Workspace: gemm_workspace_bytes(shape). It is zero except where m * n is small and k is large.
// Traffic: at least 4 * (m k + k n + m n) bytes; tiles of T x T re-read A and B n / T and m / T times, from
//   L2.
// Errors: bad argument for shapes that do not fit, a stride below the columns, a null pointer to elements,
//   an overlap of c, a misaligned pointer, a workspace too small.
[[nodiscard]] Status gemm(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                          const GemmOptions& options, Workspace workspace, cudaStream_t stream);

// Bytes of workspace that gemm() needs: room for the parts of a sum over k that is split, 0 for one that is
// not.
int64_t gemm_workspace_bytes(const GemmShape& shape);

}  // namespace rondo
