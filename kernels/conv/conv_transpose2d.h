// Transposed two-dimensional convolution (also: fractionally strided convolution, "deconvolution"), of
// float32, bfloat16 or float16 data: the data gradient of conv2d.h as an operator, with a bias and a ReLU.
//
//   y[n,h,w,g+c] = relu(bias[g+c] + sum of x[n,p,q,k] * filter[k,r,s,c] over all r,s,k and p,q with
//                       h = p * stride_h + r * dilation_h - pad_h, w = q * stride_w + s * dilation_w - pad_w)
//
//   where g is the first channel of the group of k: k / (channels of x / groups) * (channels of y / groups)
//
// Each pixel of x adds a filter to y, multiplied by its value, and the pixels of y are stride times as dense
// as those of x. Source: Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", 2016.
//
// Shapes: y is what a convolution with `options` would read to make an image of the size of x. With a stride
//   several sizes of y have this property. conv_transpose2d_output_size() gives the smallest plus
//   `output_padding`, which is below the stride: rows and columns at the bottom and on the right that fewer
//   taps reach, or none. padding takes rows of y away, where it adds rows of zeros to the input of conv2d.
// Filter: [channels of x, r, s, channels of y / groups]. It is that of the convolution from y to x. PyTorch's
//   ConvTranspose2d has [in, out / groups, r, s], so the same permutation (0, 2, 3, 1) that makes KRSC of the
//   filters OIHW of its Conv2d makes this filter of that one. The taps are not rotated.
// Limit: PyTorch also accepts an output padding from the stride on, if it is below the dilation.
//
// Gradients: the transposed convolution is linear in x and in the filter, and its gradients are those of
// conv2d.h with x and y exchanged and the same options:
//
//   conv2d_forward(dx, dy, filter, options, {}, ...)             // of x
//   conv2d_filter_gradient(filter_gradient, x, dy, options, ...) // of the filter: x is the `dy` of conv2d
//   bias_gradient(db, pixels of dy, beta, ...)                   // of the bias: the channels of y
//
// Types, layouts, infinities and NaN, numerics, determinism, traffic and plans are those of
// conv2d_data_gradient(); bias and ReLU are applied to the fp32 sum, before it is rounded to the type of y.
// A pixel that no filter reaches is relu(bias).
// Aliasing: y must not overlap an input or the workspace.
// Workspace: `data_gradient` of conv2d_workspace_bytes() or conv2d_workspace_bound(), called with y for x.
// Errors: those of conv2d_data_gradient(), with y for dx and x for dy; a bias whose size is not the channels
//   of y.
#pragma once

#include <rondo/kernels/conv/conv2d.h>

namespace rondo {

struct ConvTranspose2dEpilogue {
  VectorView<const float> bias{};  // one value per channel of y; none if data is null
  bool relu = false;
};

template <class T, class X, class W>
[[nodiscard]] Status conv_transpose2d(ImageView<T> y, ImageView<X> x, FilterView<W> filter,
                                      const Conv2dOptions& options, const ConvTranspose2dEpilogue& epilogue,
                                      Workspace workspace, cudaStream_t stream);

// The number of rows (columns) of y: (size - 1) * stride + covered - pad - end + output_padding, where the
// taps of the filter cover (filter - 1) * dilation + 1 rows, and `end` is the padding behind the last row. 0
// where that is negative, for an output padding that is not below the stride, and for arguments below their
// least value or of 2^31 or more. Otherwise conv2d_output_size() of the result is `size`. The result can be
// larger than what conv_transpose2d() accepts.
constexpr int64_t conv_transpose2d_output_size(int64_t size, int64_t filter, int64_t stride, int64_t pad,
                                               int64_t dilation, int64_t end, int64_t output_padding) {
  constexpr int64_t kLimit = int64_t{1} << 31;  // below which no product overflows
  for (const int64_t value : {size, filter, stride, dilation})
    if (value < 1 || value >= kLimit) return 0;
  for (const int64_t value : {pad, end, output_padding})
    if (value < 0 || value >= kLimit) return 0;
  if (output_padding >= stride) return 0;
  const int64_t rows = (size - 1) * stride + (filter - 1) * dilation + 1 - pad - end + output_padding;
  return rows > 0 ? rows : 0;
}

// The height and the width of y.
constexpr Conv2dOutputSides conv_transpose2d_output_sides(int64_t height, int64_t width,
                                                          int64_t filter_height, int64_t filter_width,
                                                          const Conv2dOptions& options,
                                                          int64_t output_padding_h = 0,
                                                          int64_t output_padding_w = 0) {
  return {
      conv_transpose2d_output_size(height, filter_height, options.stride_h, options.pad_h, options.dilation_h,
                                   options.pad_bottom.value_or(options.pad_h), output_padding_h),
      conv_transpose2d_output_size(width, filter_width, options.stride_w, options.pad_w, options.dilation_w,
                                   options.pad_right.value_or(options.pad_w), output_padding_w)};
}

// As conv2d_forward_with_plan(): the plan is one of a data gradient.
template <class T>
[[nodiscard]] Status conv_transpose2d_with_plan(const ConvPlan* plan, ImageView<T> y, ImageView<const T> x,
                                                FilterView<const T> filter, const Conv2dOptions& options,
                                                const ConvTranspose2dEpilogue& epilogue, Workspace workspace,
                                                cudaStream_t stream);

template <class T, class X, class W>
Status conv_transpose2d(ImageView<T> y, ImageView<X> x, FilterView<W> filter, const Conv2dOptions& options,
                        const ConvTranspose2dEpilogue& epilogue, Workspace workspace, cudaStream_t stream) {
  require_conv2d_types<T, X, W>();
  return conv_transpose2d_with_plan<T>(nullptr, y, x, filter, options, epilogue, workspace, stream);
}

}  // namespace rondo
