// Two-dimensional convolution and its two gradients, of float32, bfloat16 or float16 data. As in all neural
// networks, it is a cross-correlation.
//
//   y[n,p,q,k]  = relu(bias[k] + residual[n,p,q,k] + sum over r,s,c of x[n,h,w,g+c] * filter[k,r,s,c])
//   dx[n,h,w,g+c] = beta * dx[n,h,w,g+c] + sum over the same terms of dy[n,p,q,k] * filter[k,r,s,c]
//   dw[k,r,s,c] = beta * dw[k,r,s,c] + sum over n,p,q of dy[n,p,q,k] * x[n,h,w,g+c]
//   bias_gradient[k] = beta * bias_gradient[k] + sum over n,p,q of dy[n,p,q,k]
//
//   where h = p * stride_h + r * dilation_h - pad_h, w = q * stride_w + s * dilation_w - pad_w, and g is the
//   first channel of the group of k: k / (out_channels / groups) * (channels of x / groups)
//
// x is zero outside its height and width. Source: LeCun et al., "Gradient-based learning applied to document
// recognition", 1998. The dimension names are those of cuDNN (Chetlur et al., 2014).
//
// Types: images and filters have one type, float, bfloat16 or float16; dw and bias are float. options.math
//   selects the arithmetic of float images. Those of 16 bits use the direct sum, and `math` must keep its
//   default, Math::fp32: products are exact, sums are fp32, and y and dx are rounded once, to nearest even.
//   bfloat16, tf32 and tf32x3 need a GPU of compute capability 8.0, float16 one of 7.5.
// Layouts: activations packed NHWC, filters packed KRSC, pointers aligned to their elements. If pointers are
//   multiples of 16 bytes and the channels of a pixel too, copies into shared memory are 16 bytes wide
//   instead of one element.
// Empty: zero images or output channels are allowed. An empty sum is zero (dw of an empty batch; dx where no
//   filter reaches): without beta it is written as zero, with beta the old value is multiplied. y without
//   input channels is relu(bias + residual).
// Aliasing: the output must not overlap an input or the workspace. The residual may be y.
// Infinities and NaN: a term whose x or dx lies outside the image is zero times the other factor, and kernels
//   may omit it. If that factor is infinite or NaN (a weight, or for dw a value of dy), the result is either
//   NaN or the sum without the term; it is unspecified which. All other terms are included. This describes
//   the values before the ReLU. For dw of 16-bit data on compute capability 9.0, kernels also multiply zeros
//   by values of x near the right and bottom edges, for which the definition has no term. An infinity or NaN
//   there may make dw NaN.
// beta: if it is 0, the old value is not read. The old value is multiplied and added in fp32, once, after the
//   whole sum, also where the sum is computed in parts.
// Numerics: products and sums in fp32, in a fixed order. A product and its addition are rounded once (a fused
//   multiply-add) on GPUs, and on CPUs if the build uses the FMA instruction. Winograd's algorithm rounds
//   sums of up to 16 inputs before it multiplies them, and adds fewer products. Its errors are about as
//   large as those of the direct sum. docs/numerics.md has the errors of the other arithmetics. y and dw of a
//   convolution with few input channels, and all of one with groups, are computed by fp32 multiply-adds in
//   every arithmetic.
// Determinism: the bits depend only on the shapes and the options. With tensor cores they depend on the kind
//   of GPU, and on one of compute capability 9.0 also on whether the pointers and the pixels begin at
//   multiples of 16 bytes: then wgmma may multiply instead of mma.sync (docs/numerics.md). So do the `sums`
//   of an epilogue.
// Errors: bad_argument for negative sizes or padding, strides, dilations or groups below 1, groups that do
//   not divide the channels of x and y, taps that cover more than the padded input, shapes that do not match,
//   null pointers to elements, misalignment, an overlap, a dimension of 2^31 or more, an invalid enumerator,
//   the algorithm winograd for an unsupported convolution or with tf32 or tf32x3, a workspace that is too
//   small, a `math` that the device does not have.
#pragma once

#include <rondo/kernels/conv/conv2d_options.h>
#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

namespace rondo {

// Traffic of all three: at least the bytes of x, y and the filter. beta adds a read of the result.
//
// Workspace: the size that conv2d_workspace_bytes() returns for the operation; for a forward convolution with
// sums, `forward_sums`, and for a filter gradient with a bias gradient, `filter_gradient_bias`. It holds the
// transformed filter of Winograd's algorithm, the transposed filter of a data gradient in tf32 or tf32x3 (for
// wgmma), the partial sums of dw, and of y and dx with few pixels and a long sum, and the partial sums for
// `sums`. Fewer images may need a larger one: their sums have more parts.
template <class T, class X, class W>
[[nodiscard]] Status conv2d_forward(ImageView<T> y, ImageView<X> x, FilterView<W> filter,
                                    const Conv2dOptions& options, const Conv2dEpilogueOf<T>& epilogue,
                                    Workspace workspace, cudaStream_t stream);

template <class T, class Y, class W>
[[nodiscard]] Status conv2d_data_gradient(ImageView<T> dx, ImageView<Y> dy, FilterView<W> filter,
                                          const Conv2dOptions& options,
                                          const Conv2dDataGradientEpilogue& epilogue, Workspace workspace,
                                          cudaStream_t stream);

// The bias gradient comes from the same pass over dy in the kernels for few channels and for groups, whose
// threads have the values of dy in registers; its numerics are those of dw. The implicit GEMM and Winograd's
// algorithm have them in shared memory in other orders, so with them the kernel of bias_gradient()
// (../reduce/bias_gradient.h) reads dy a second time.
template <class Y, class X>
[[nodiscard]] Status conv2d_filter_gradient(FilterView<float> dw, ImageView<Y> dy, ImageView<X> x,
                                            const Conv2dOptions& options,
                                            const Conv2dFilterGradientEpilogue& epilogue, Workspace workspace,
                                            cudaStream_t stream);

// The workspace sizes for a convolution of x with the filter. Only the shapes of the views are used. `type`:
// that of images and filters. Returns zeros for shapes that do not match.
Conv2dWorkspaceBytes conv2d_workspace_bytes(const ImageView<const float>& x,
                                            const FilterView<const float>& filter,
                                            const Conv2dOptions& options, DType type = DType::float32);
// The same of the views themselves, whose type is that of images and filters.
template <class X, class W>
Conv2dWorkspaceBytes conv2d_workspace_bytes(const ImageView<X>& x, const FilterView<W>& filter,
                                            const Conv2dOptions& options);

// The same with the plan of the kernel (conv_plan.h) as an argument. The functions above pass null, and the
// plan is chosen for the convolution and the device. Tests make their own: a large device would choose the
// smallest tile for every problem of a test's size. With a plan, options.algorithm is ignored, and the
// workspace is that of the plan. T: float, __nv_bfloat16 or __half.
struct ConvPlan;
template <class T>
[[nodiscard]] Status conv2d_forward_with_plan(const ConvPlan* plan, ImageView<T> y, ImageView<const T> x,
                                              FilterView<const T> filter, const Conv2dOptions& options,
                                              const Conv2dEpilogueOf<T>& epilogue, Workspace workspace,
                                              cudaStream_t stream);
template <class T>
[[nodiscard]] Status conv2d_data_gradient_with_plan(const ConvPlan* plan, ImageView<T> dx,
                                                    ImageView<const T> dy, FilterView<const T> filter,
                                                    const Conv2dOptions& options,
                                                    const Conv2dDataGradientEpilogue& epilogue,
                                                    Workspace workspace, cudaStream_t stream);
template <class T>
[[nodiscard]] Status conv2d_filter_gradient_with_plan(const ConvPlan* plan, FilterView<float> dw,
                                                      ImageView<const T> dy, ImageView<const T> x,
                                                      const Conv2dOptions& options,
                                                      const Conv2dFilterGradientEpilogue& epilogue,
                                                      Workspace workspace, cudaStream_t stream);

// Fails to compile, with a sentence, where a convolution has images or filters of other types than T.
template <class T, class... Others>
constexpr void require_conv2d_types() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>,
                "a convolution has images of float, __nv_bfloat16 or __half");
  static_assert((std::is_same_v<T, std::remove_const_t<Others>> && ...),
                "the images and the filter of a convolution must have one type (dw is float)");
}

template <class X, class W>
Conv2dWorkspaceBytes conv2d_workspace_bytes(const ImageView<X>& x, const FilterView<W>& filter,
                                            const Conv2dOptions& options) {
  using T = std::remove_const_t<X>;
  require_conv2d_types<T, W>();
  return conv2d_workspace_bytes(
      ImageView<const float>{nullptr, x.images, x.height, x.width, x.channels},
      FilterView<const float>{nullptr, filter.out_channels, filter.height, filter.width, filter.in_channels},
      options, dtype_of<T>);
}

template <class T, class X, class W>
Status conv2d_forward(ImageView<T> y, ImageView<X> x, FilterView<W> filter, const Conv2dOptions& options,
                      const Conv2dEpilogueOf<T>& epilogue, Workspace workspace, cudaStream_t stream) {
  require_conv2d_types<T, X, W>();
  return conv2d_forward_with_plan<T>(nullptr, y, x, filter, options, epilogue, workspace, stream);
}

template <class T, class Y, class W>
Status conv2d_data_gradient(ImageView<T> dx, ImageView<Y> dy, FilterView<W> filter,
                            const Conv2dOptions& options, const Conv2dDataGradientEpilogue& epilogue,
                            Workspace workspace, cudaStream_t stream) {
  require_conv2d_types<T, Y, W>();
  return conv2d_data_gradient_with_plan<T>(nullptr, dx, dy, filter, options, epilogue, workspace, stream);
}

template <class Y, class X>
Status conv2d_filter_gradient(FilterView<float> dw, ImageView<Y> dy, ImageView<X> x,
                              const Conv2dOptions& options, const Conv2dFilterGradientEpilogue& epilogue,
                              Workspace workspace, cudaStream_t stream) {
  using T = std::remove_const_t<Y>;
  require_conv2d_types<T, X>();
  return conv2d_filter_gradient_with_plan<T>(nullptr, dw, dy, x, options, epilogue, workspace, stream);
}

}  // namespace rondo
