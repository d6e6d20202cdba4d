// The options of the convolutions of conv2d.h.
#pragma once

#include <rondo/kernels/core/math_mode.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

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

struct Conv2dWorkspaceBytes {
  int64_t forward = 0, forward_sums = 0, data_gradient = 0, filter_gradient = 0;
};

}  // namespace rondo
