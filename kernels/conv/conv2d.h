// Two-dimensional convolution and its two gradients, of float32, bfloat16 or float16 data. As in all neural
// networks, it is a cross-correlation.
//
//   y[n,p,q,k]  = relu(bias[k] + residual[n,p,q,k] + sum over r,s,c of x[n,h,w,c] * filter[k,r,s,c])
//   dx[n,h,w,c] = sum over the same terms of dy[n,p,q,k] * filter[k,r,s,c]
//   dw[k,r,s,c] = sum over n,p,q of dy[n,p,q,k] * x[n,h,w,c]
//
//   where h = p * stride_h + r - pad_h, w = q * stride_w + s - pad_w
//
// x is zero outside its height and width. Source: LeCun et al., "Gradient-based learning applied to document
// recognition", 1998. The dimension names are those of cuDNN (Chetlur et al., 2014).
//
// Layouts: activations packed NHWC, filters packed KRSC; 4-byte alignment. With channels divisible by 4 and
//   16-byte aligned pointers, the copies into shared memory are four times as wide.
// Empty: zero images or output channels are allowed. An empty sum is written as zero (dw of an empty batch;
//   dx where no filter reaches); y without input channels is relu(bias + residual).
// Aliasing: the output must not overlap an input or the workspace. The residual may be y.
// Infinities and NaN: a term whose x or dx lies outside the image is zero times the other factor, and kernels
//   may omit it. If that factor is infinite or NaN (a weight, or for dw a value of dy), the result is either
//   NaN or the sum without the term; it is unspecified which. All other terms are included. This describes
//   the values before the ReLU. dw of 16-bit data on compute capability 9.0 also adds zero times values of x
//   near the right and bottom edges, where the definition has no term: an infinity or NaN there may make it
//   NaN.
// Numerics: products and sums in fp32, in a fixed order. A product and its addition are rounded once (a fused
//   multiply-add) on GPUs, and on CPUs if the build uses the FMA instruction. Winograd's algorithm rounds
//   sums of up to 16 inputs before it multiplies them, and adds fewer products. Its errors are about as
//   large as those of the direct sum. With Math::tf32 and tf32x3 see core/math_mode.h and docs/numerics.md; a
//   convolution with few input channels is computed in fp32 then, too.
// Determinism: the bits depend only on the shapes and the options. With tensor cores they depend on the kind
//   of GPU, and on one of compute capability 9.0 also on whether the pointers and the pixels begin at
//   multiples of 16 bytes: then wgmma may multiply instead of mma.sync (docs/numerics.md). So do the `sums`
//   of an epilogue.
// Errors: bad_argument for negative sizes or padding, strides below 1, a filter larger than the padded input,
//   shapes that do not match, null pointers to elements, misalignment, an overlap, a dimension of 2^31 or
//   more, an invalid enumerator, the algorithm winograd for an unsupported convolution or with tf32 or
//   tf32x3, a workspace that is too small, a `math` that the device does not have.
#pragma once

#include <rondo/kernels/core/math_mode.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

namespace rondo {

// direct: the sum as defined above.
// winograd: F(2 x 2, 3 x 3), which computes 4 outputs from 16 products instead of 36. It supports 3 x 3
//   filters with stride 1, padding up to 2 and channels in multiples of 16.
// automatic: winograd where it needs less work and math is fp32, otherwise direct.
//
// Limits of winograd: it adds and subtracts neighbouring values before it multiplies. These sums can
// overflow: values above 2^125 (4e37) give infinity or NaN where the direct sum may be finite. An infinity in
// x makes most of the values of y that depend on it NaN, where the direct sum is infinite; other values of y
// are unchanged. The same holds for dx and dy. For dw, an infinity in x or dy makes all nine taps of its
// channel NaN or infinite. Choose direct if this matters.
enum class ConvAlgorithm { automatic, direct, winograd };

struct Conv2dOptions {
  int64_t stride_h = 1;
  int64_t stride_w = 1;
  int64_t pad_h = 0;  // zeros at the top and at the bottom, each
  int64_t pad_w = 0;  // zeros on the left and on the right, each
  ConvAlgorithm algorithm = ConvAlgorithm::automatic;
  Math math = Math::fp32;  // of the products
};

template <class T>
struct Conv2dEpilogueOf {
  VectorView<const float> bias{};  // one value per output channel; none if data is null
  bool relu = false;
  ImageView<const T> residual{};  // added before the ReLU, of the shape of y; none if data is null
  // Output: 2 * out_channels values; null: not computed. The first half has the sum of y per channel, the
  // second the sum of squares, as batch_norm_sums() (norm/batch_norm.h) computes them from the stored y.
  // Tensor-core kernels compute them in the epilogue, unless y is computed in parts; otherwise a second
  // kernel reads y.
  //
  // In the epilogue, sums of differences from a value of y, of up to 32 pixels, are pairs of floats; the rest
  // is double. Their rounding depends on the kernel, and so on the device. A channel with an infinity, with
  // differences above 2^61 or values above 2^122, has sums that are infinite or NaN; differences below 2^-75
  // have squares of 0.
  // out_channels is at most 2^20.
  VectorView<double> sums{};
};
using Conv2dEpilogue = Conv2dEpilogueOf<float>;

// The number of rows (columns) of y: floor((size + 2 pad - filter) / stride) + 1. 0 for a filter that does
// not fit and for arguments that conv2d_forward() rejects.
constexpr int64_t conv2d_output_size(int64_t size, int64_t filter, int64_t stride, int64_t pad) {
  constexpr int64_t kMost = int64_t{1} << 61;  // limit below which size + 2 * pad does not overflow
  if (size < 0 || filter < 1 || stride < 1 || pad < 0 || size > kMost || pad > kMost) return 0;
  return filter > size + 2 * pad ? 0 : (size + 2 * pad - filter) / stride + 1;
}

// Traffic of all three: at least 4 bytes x (|x| + |y| + |filter|).
//
// Workspace: the size that conv2d_workspace_bytes() returns for the operation; for a forward convolution with
// sums, `forward_sums`. It holds the transformed filter of Winograd's algorithm, the transposed filter of a
// data gradient in tf32 or tf32x3 (for wgmma), the partial sums of dw, and of y and dx with few pixels and a
// long sum, and the partial sums for `sums`. Fewer images may need a larger one: their sums have more parts.
[[nodiscard]] Status conv2d_forward(ImageView<float> y, ImageView<const float> x,
                                    FilterView<const float> filter, const Conv2dOptions& options,
                                    const Conv2dEpilogue& epilogue, Workspace workspace, cudaStream_t stream);

[[nodiscard]] Status conv2d_data_gradient(ImageView<float> dx, ImageView<const float> dy,
                                          FilterView<const float> filter, const Conv2dOptions& options,
                                          Workspace workspace, cudaStream_t stream);

[[nodiscard]] Status conv2d_filter_gradient(FilterView<float> dw, ImageView<const float> dy,
                                            ImageView<const float> x, const Conv2dOptions& options,
                                            Workspace workspace, cudaStream_t stream);

// The same for images and filters of bfloat16 or float16. Always the direct sum, on tensor cores. Exception:
// y and dw of a convolution with few input channels use fp32 multiply-adds. Products are exact and sums are
// fp32; y and dx are rounded once, to nearest even; dw is float32. options.math selects the arithmetic of
// float images; it must keep its default, Math::fp32. With channels divisible by 8 and 16-byte aligned
// pointers, the copies into shared memory are eight times as wide. They need a GPU of compute capability 8.0,
// or 7.5 for float16.
[[nodiscard]] Status conv2d_forward(ImageView<__nv_bfloat16> y, ImageView<const __nv_bfloat16> x,
                                    FilterView<const __nv_bfloat16> filter, const Conv2dOptions& options,
                                    const Conv2dEpilogueOf<__nv_bfloat16>& epilogue, Workspace workspace,
                                    cudaStream_t stream);

[[nodiscard]] Status conv2d_data_gradient(ImageView<__nv_bfloat16> dx, ImageView<const __nv_bfloat16> dy,
                                          FilterView<const __nv_bfloat16> filter,
                                          const Conv2dOptions& options, Workspace workspace,
                                          cudaStream_t stream);

[[nodiscard]] Status conv2d_filter_gradient(FilterView<float> dw, ImageView<const __nv_bfloat16> dy,
                                            ImageView<const __nv_bfloat16> x, const Conv2dOptions& options,
                                            Workspace workspace, cudaStream_t stream);

[[nodiscard]] Status conv2d_forward(ImageView<__half> y, ImageView<const __half> x,
                                    FilterView<const __half> filter, const Conv2dOptions& options,
                                    const Conv2dEpilogueOf<__half>& epilogue, Workspace workspace,
                                    cudaStream_t stream);

[[nodiscard]] Status conv2d_data_gradient(ImageView<__half> dx, ImageView<const __half> dy,
                                          FilterView<const __half> filter, const Conv2dOptions& options,
                                          Workspace workspace, cudaStream_t stream);

[[nodiscard]] Status conv2d_filter_gradient(FilterView<float> dw, ImageView<const __half> dy,
                                            ImageView<const __half> x, const Conv2dOptions& options,
                                            Workspace workspace, cudaStream_t stream);

struct Conv2dWorkspaceBytes {
  int64_t forward = 0, forward_sums = 0, data_gradient = 0, filter_gradient = 0;
};
// The workspace sizes for a convolution of x with the filter. Only the shapes of the views are used. `type`:
// that of images and filters. Returns zeros for shapes that do not match.
Conv2dWorkspaceBytes conv2d_workspace_bytes(const ImageView<const float>& x,
                                            const FilterView<const float>& filter,
                                            const Conv2dOptions& options, DType type = DType::float32);

}  // namespace rondo
