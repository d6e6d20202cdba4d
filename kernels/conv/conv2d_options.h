// The options of the convolutions of conv2d.h.
#pragma once

#include <rondo/kernels/core/math_mode.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>
#include <optional>

namespace rondo {

// direct: the sum as conv2d.h defines it.
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
  int64_t pad_h = 0;  // zeros at the top and, without pad_bottom, at the bottom
  int64_t pad_w = 0;  // zeros on the left and, without pad_right, on the right
  ConvAlgorithm algorithm = ConvAlgorithm::automatic;
  Math math = Math::fp32;  // of the products
  int64_t dilation_h = 1;  // the distance of adjacent taps in x
  int64_t dilation_w = 1;
  // The channels of x and y are divided into as many groups of adjacent ones. An output channel sums over the
  // input channels of its group, so filter.in_channels is x.channels / groups. With as many groups as
  // channels the convolution is depthwise.
  int64_t groups = 1;
  std::optional<int64_t> pad_bottom = {}, pad_right = {};
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

struct Conv2dDataGradientEpilogue {
  float beta = 0;  // of the old dx; 0: it is not read
};

struct Conv2dFilterGradientEpilogue {
  float beta = 0;  // of the old values of dw and bias_gradient; 0: they are not read
  // Output: one value per output channel, the sum of dy over n,p,q. Not computed if data is null.
  // out_channels is below 2^21, as for bias_gradient().
  VectorView<float> bias_gradient{};
};

// The number of rows (columns) of y: floor((size + pad + end - covered) / stride) + 1, where the taps of the
// filter cover (filter - 1) * dilation + 1 rows, and `end` is the padding behind the last row. 0 for a filter
// that does not fit and for arguments that conv2d_forward() rejects.
constexpr int64_t conv2d_output_size(int64_t size, int64_t filter, int64_t stride, int64_t pad,
                                     int64_t dilation, int64_t end) {
  constexpr int64_t kMost = int64_t{1} << 60;  // limit below which size + pad + end does not overflow
  if (size < 0 || filter < 1 || stride < 1 || pad < 0 || dilation < 1 || end < 0) return 0;
  if (size > kMost || pad > kMost || end > kMost) return 0;
  const int64_t padded = size + pad + end;
  if (padded < 1 || filter - 1 > (padded - 1) / dilation) return 0;
  return (padded - 1 - (filter - 1) * dilation) / stride + 1;
}
constexpr int64_t conv2d_output_size(int64_t size, int64_t filter, int64_t stride, int64_t pad) {
  return conv2d_output_size(size, filter, stride, pad, 1, pad);
}

// The height and the width of y.
struct Conv2dOutputSides {
  int64_t height, width;
};
constexpr Conv2dOutputSides conv2d_output_sides(int64_t height, int64_t width, int64_t filter_height,
                                                int64_t filter_width, const Conv2dOptions& options) {
  return {conv2d_output_size(height, filter_height, options.stride_h, options.pad_h, options.dilation_h,
                             options.pad_bottom.value_or(options.pad_h)),
          conv2d_output_size(width, filter_width, options.stride_w, options.pad_w, options.dilation_w,
                             options.pad_right.value_or(options.pad_w))};
}

struct Conv2dWorkspaceBytes {
  int64_t forward = 0, forward_sums = 0, data_gradient = 0, filter_gradient = 0, filter_gradient_bias = 0;
};

}  // namespace rondo
