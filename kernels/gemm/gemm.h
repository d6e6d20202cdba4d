// Matrix products of float, bfloat16 and float16 matrices:
//
//   C = activation(alpha * op(A) * op(B) + beta * C + bias + residual)
//
// Source: the BLAS operation SGEMM (Dongarra et al., 1990), extended by a bias per column, a residual
// and an activation.
#pragma once

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>
#include <rondo/kernels/gemm/gemm_options.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace rondo {

// c (m x n) = activation(alpha * op(a) op(b) + beta * c + bias + residual); op(a) is m x k, op(b) is k x n.
//
// Types: a and b have one type, float, bfloat16 or float16; c has that type or float. options.math selects
//   the arithmetic of float matrices. Those of 16 bits use tensor cores, and `math` must keep its default,
//   Math::fp32: products are exact, sums are fp32, and a result of 16 bits is rounded once, to nearest even.
//   bfloat16, tf32 and tf32x3 need a GPU of compute capability 8.0, float16 one of 7.5.
// Layout: row-major, any stride >= cols, pointers aligned to their elements. If pointers and strides are
//   multiples of 16 bytes, and the sizes too, copies into shared memory are 16 bytes wide instead of one
//   element.
// Empty: does nothing if m or n is zero; computes the rest of the formula if k is zero.
// Aliasing: c must not overlap a, b, the bias or the workspace; a and b may overlap. The residual may be c.
//   Views of disjoint column ranges of one matrix do not count as overlapping.
// Numerics: with Math::fp32, products and sums in fp32, in ascending order of k. A product and its addition
//   are rounded once (a fused multiply-add) on GPUs, and on CPUs if the build uses the FMA instruction. The
//   error of a result is at most about k * 2^-24 * sum |a_i b_i|. A long sum over k (split_k.h) is computed
//   in parts, which are then added in order. docs/numerics.md has the errors of the other arithmetics. With
//   tf32x3 a result may be NaN where the exact one is infinite, and where a factor is 2^128 - 2^116 (3.4e38)
//   or more, which tf32 rounds to infinity. The epilogue is computed in fp32 from the unrounded sum, in the
//   order of the formula (the residual in the place of beta * c), and the activations are those of
//   core/activation_functions.h.
// Determinism: every run on the same kind of GPU has the same bits. In fp32 the bits depend only on the shape
//   and the options, not on the device, the alignment or the tile. By tensor cores they depend on:
//     the kind of GPU             how a tensor core rounds its sums is not documented
//     the alignment of a and b    on compute capability 9.0: wgmma needs rows that begin at multiples of 16
//                                 bytes, else mma.sync multiplies (gemm_plan.h)
//     beta and the residual       on compute capability 9.0: with GELU or sigmoid, mma.sync multiplies
//     the multiprocessors         on compute capability 9.0: stream-K divides the sums of some large products
//                                 among them (stream_k.cuh)
// Workspace: gemm_workspace_bytes(shape, options, type), with any contents. It is zero, except for
//     a small m * n with a large k    partial sums of split-K
//     tf32 and tf32x3, large          a transposed copy of an operand that is not contiguous along k
//     stream-K                        partial sums, up to 39 MB
// Traffic: at least the bytes of A, B and C. Tiles of T x T read A n / T times and B m / T times; the
//   repeated reads come from L2.
// Errors: bad_argument for shapes that do not match, a stride below cols, a null pointer to elements, an
//   overlap of c, a misaligned pointer, a residual of another type, shape or stride than c, or with beta,
//   an invalid enumerator, a workspace that is too small, a `math` that the device does not have.
template <class C, class A, class B>
[[nodiscard]] Status gemm(MatrixView<C> c, MatrixView<A> a, MatrixView<B> b, const GemmOptions& options,
                          Workspace workspace, cudaStream_t stream);

// c[i] = activation(alpha * op(a[i]) op(b[i]) + beta * c[i] + bias + residual[i]) for all `batches` products,
// in one launch.
//
// The contract of gemm(), with these differences:
// Layout: batch_stride elements from one matrix to the next. That of a or b may be 0: one matrix for all. The
//   matrices of c lie apart, as blocks or as column ranges of one matrix, such as the heads of an attention.
// Numerics, determinism: each sum is computed in ascending order of k, in one part: for a long sum the bits
//   differ from those of gemm(). In fp32 they are those of gemm() otherwise. 16 bits, tf32 and tf32x3 are
//   multiplied by mma.sync on every GPU.
// Workspace: none.
// Errors: also bad_argument for different numbers of batches, a negative batch_stride, matrices of c that
//   overlap, and 2^31 tiles or more of all products.
template <class C, class A, class B>
[[nodiscard]] Status gemm_strided_batched(MatrixBatchView<C> c, MatrixBatchView<A> a, MatrixBatchView<B> b,
                                          const GemmOptions& options, cudaStream_t stream);

// The same for matrices at any addresses: c[i], a[i], b[i] and residual[i] are at the pointers number i of
// arrays in device memory, which the kernel reads. Also one launch.
//
// The contract of gemm_strided_batched(), with the same bits, and these differences:
// Layout: the matrices of an operand have one shape and one stride. Each pointer is aligned to its elements.
//   Its matrix is copied 16 bytes at a time where that pointer, the stride and the size allow it, whatever
//   the other pointers are. Equal pointers in a or b are one matrix for several products.
// Empty: the array of an operand without elements may be null. With k or alpha of zero, the pointers of a and
//   b are not read.
// Aliasing: the host does not read the pointers. So the caller must ensure that a matrix of c overlaps no
//   other matrix of c, no matrix of a or b, no array of pointers and not the bias. residual[i] may be c[i]
//   and must overlap no other matrix of c.
// Errors: what depends on the pointers is not checked. A null or misaligned pointer, or one that is not to
//   device memory, is an error of the device (device_failed, at a later call). A residual is a view of
//   pointers, too.
// Traffic: that of the matrices, and 8 bytes a matrix. A block reads its pointers before its first copy,
//   which adds the latency of a load.
// Source: the extension of BLAS by batches (Dongarra et al., "The Design and Performance of Batched BLAS on
//   Modern High-Performance Computing Systems", 2017).
template <class C, class A, class B>
[[nodiscard]] Status gemm_batched(MatrixPointersView<C> c, MatrixPointersView<A> a, MatrixPointersView<B> b,
                                  const GemmOptions& options, cudaStream_t stream);

// The workspace in bytes for gemm() of matrices a and b of `type`, on all devices: the partial sums of
// split-K or stream-K, and the transposed copies of operands. Reads only transpose_a, transpose_b and math of
// the options.
int64_t gemm_workspace_bytes(const GemmShape& shape, const GemmOptions& options = {},
                             DType type = DType::float32);

// gemm() after the check of the types. Checks the arguments.
template <class T, class C>
[[nodiscard]] Status checked_gemm(MatrixView<C> c, MatrixView<const T> a, MatrixView<const T> b,
                                  const GemmOptions& options, Workspace workspace, cudaStream_t stream);

template <class T, class C>
[[nodiscard]] Status checked_gemm(MatrixBatchView<C> c, MatrixBatchView<const T> a,
                                  MatrixBatchView<const T> b, const GemmOptions& options,
                                  cudaStream_t stream);

template <class T, class C>
[[nodiscard]] Status checked_gemm(MatrixPointersView<C> c, MatrixPointersView<const T> a,
                                  MatrixPointersView<const T> b, const GemmOptions& options,
                                  cudaStream_t stream);

// The type of a and b, if gemm() takes these types.
template <class C, class A, class B>
struct GemmFactor {
  using T = std::remove_const_t<A>;
  static_assert(std::is_same_v<T, std::remove_const_t<B>>, "gemm(): a and b must have the same type");
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>,
                "gemm(): a and b must be float, __nv_bfloat16 or __half");
  static_assert(std::is_same_v<C, T> || std::is_same_v<C, float>,
                "gemm(): c must have the type of a and b, or float");
};

template <class C, class A, class B>
Status gemm(MatrixView<C> c, MatrixView<A> a, MatrixView<B> b, const GemmOptions& options,
            Workspace workspace, cudaStream_t stream) {
  return checked_gemm<typename GemmFactor<C, A, B>::T, C>(c, a, b, options, workspace, stream);
}

template <class C, class A, class B>
Status gemm_strided_batched(MatrixBatchView<C> c, MatrixBatchView<A> a, MatrixBatchView<B> b,
                            const GemmOptions& options, cudaStream_t stream) {
  return checked_gemm<typename GemmFactor<C, A, B>::T, C>(c, a, b, options, stream);
}

template <class C, class A, class B>
Status gemm_batched(MatrixPointersView<C> c, MatrixPointersView<A> a, MatrixPointersView<B> b,
                    const GemmOptions& options, cudaStream_t stream) {
  return checked_gemm<typename GemmFactor<C, A, B>::T, C>(c, a, b, options, stream);
}

}  // namespace rondo
