// Matrix products of float, bfloat16 and float16 matrices: C = relu(alpha * op(A) * op(B) + beta * C + bias).
//
// Source: the BLAS operation SGEMM (Dongarra et al., 1990), extended by a bias per column and a ReLU.
#pragma once

#include <rondo/kernels/core/math_mode.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace rondo {

struct GemmOptions {
  bool transpose_a = false;  // op(A) = A^T: the view `a` is k x m
  bool transpose_b = false;  // op(B) = B^T: the view `b` is n x k
  float alpha = 1;           // 0: A and B are not read (their views are still checked)
  float beta = 0;                  // 0: C is not read
  VectorView<const float> bias{};  // n values, added to every row; none if data is null
  bool relu = false;               // applied last: max(value, 0); NaN stays NaN
  Math math = Math::fp32;          // of the products; alpha, beta, bias and ReLU are always fp32
};

// The sizes m, n, k of a product. Each result is a sum of k products.
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// c (m x n) = relu(alpha * op(a) op(b) + beta * c + bias); op(a) is m x k, op(b) is k x n.
//
// Layout: row-major, any stride >= cols, 4-byte alignment. With 16-byte alignment of pointers and strides,
//   and sizes divisible by 4, the copies into shared memory are four times as wide.
// Empty: does nothing if m or n is zero; computes relu(beta * c + bias) if k is zero.
// Aliasing: c must not overlap a, b or the workspace; a and b may overlap. Views of disjoint column ranges of
//   one matrix do not count as overlapping.
// Numerics: products and sums in fp32, in ascending order of k. A product and its addition are rounded once
//   (a fused multiply-add) on GPUs, and on CPUs if the build uses the FMA instruction. The error of a result
//   is at most about k * 2^-24 * sum |a_i b_i|. A long sum over k (see split_k() in gemm_config.h) is
//   computed in parts, which are then added in order. With Math::tf32 and tf32x3, docs/numerics.md has the
//   errors. With tf32x3 a result may be NaN where the exact one is infinite, and where a factor is 2^128 -
//   2^116 (3.4e38) or more, which tf32 rounds to infinity.
// Determinism: the bits depend only on the shape and the options, not on the device, its number of
//   multiprocessors, the alignment or the tile. With tensor cores they depend on the kind of GPU, and on one
//   of compute capability 9.0 also on whether the rows of a and b begin at multiples of 16 bytes: then wgmma
//   may multiply instead of mma.sync (gemm_plan.h), and how each rounds its sums is not documented. There,
//   those of some large products depend on the number of multiprocessors, too: stream-K divides their sums
//   that CUDA reports (stream_k.cuh). With the same number every run has the same bits.
// Workspace: gemm_workspace_bytes(shape, options, type), with any contents. It is zero unless m * n is small
//   and k is large; or a large product in tf32 or tf32x3 has an operand that is not contiguous along k: wgmma
//   reads a transposed copy; or stream-K pays on an H100: up to 39 MB of partial sums.
// Traffic: at least 4 * (m k + k n + m n) bytes. Tiles of T x T read A n / T times and B m / T times; the
//   repeated reads come from L2.
// Errors: bad_argument for shapes that do not match, a stride below cols, a null pointer to elements, an
//   overlap of c, a misaligned pointer, a workspace that is too small, a `math` that the device does not
//   have.
[[nodiscard]] Status gemm(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                          const GemmOptions& options, Workspace workspace, cudaStream_t stream);

// The same for factors of 16 bits, by tensor cores. Products are exact and sums are fp32; a result of 16 bits
// is rounded once, to nearest even. options.math selects the arithmetic of float matrices; it must keep its
// default, Math::fp32. With 16-byte alignment of pointers and strides, and sizes divisible by 8, the copies
// into shared memory are eight times as wide. bfloat16 needs a GPU of compute capability 8.0, float16 of 7.5.
[[nodiscard]] Status gemm(MatrixView<__nv_bfloat16> c, MatrixView<const __nv_bfloat16> a,
                          MatrixView<const __nv_bfloat16> b, const GemmOptions& options, Workspace workspace,
                          cudaStream_t stream);
[[nodiscard]] Status gemm(MatrixView<float> c, MatrixView<const __nv_bfloat16> a,
                          MatrixView<const __nv_bfloat16> b, const GemmOptions& options, Workspace workspace,
                          cudaStream_t stream);
[[nodiscard]] Status gemm(MatrixView<__half> c, MatrixView<const __half> a, MatrixView<const __half> b,
                          const GemmOptions& options, Workspace workspace, cudaStream_t stream);
[[nodiscard]] Status gemm(MatrixView<float> c, MatrixView<const __half> a, MatrixView<const __half> b,
                          const GemmOptions& options, Workspace workspace, cudaStream_t stream);

// The workspace in bytes for gemm() of matrices a and b of `type`, on all devices: the partial sums of
// split-K or stream-K, and the transposed copies of operands. Reads only transpose_a, transpose_b and math of
// the options.
int64_t gemm_workspace_bytes(const GemmShape& shape, const GemmOptions& options = {},
                             DType type = DType::float32);

}  // namespace rondo
