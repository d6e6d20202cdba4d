// The sizes of a convolution in a plain struct, checked once on the host (conv_checks.h) and passed to the
// kernels.
#pragma once

#include <rondo/kernels/conv/conv2d_options.h>
#include <rondo/kernels/reduce/moments.h>

namespace rondo {

struct ConvGeometry {
  int images;                  // n
  int h, w, c;                 // input
  int k, r, s;                 // filter
  int p, q;                    // output; its channels are k
  int stride_h, stride_w;      // 1 along an axis with one output: the stride has no effect and might overflow
  int pad_h, pad_w;            // at the top and on the left
  int dilation_h, dilation_w;  // 1 along an axis with one tap
  int groups;
  bool padded;            // some output has a tap outside of the image
  int patch;              // summands per output: r * s * c / groups
  int64_t output_pixels;  // over the whole batch: images * p * q
};

// y from x, dx from dy, dw from dy and x. An implicit GEMM computes the first two with the same kernel.
enum class ConvOperation { forward, data_gradient, filter_gradient };

// The epilogue of y or dx, after the argument checks. Null pointers: none.
template <class T>
struct ConvEpilogue {
  const float* bias = nullptr;
  const T* residual = nullptr;
  bool relu = false;
  PartialMoments moments = {};  // of y, for kernels of tensor cores; others ignore them
  float beta = 0;               // of the old value; only without a residual
};

// The results of a filter gradient, sum + beta * old value.
struct FilterGradient {
  float* dw = nullptr;
  float beta = 0;       // 0: the old values are not read
  float* db = nullptr;  // of the bias; null: not computed. Only for kernels that has_bias_gradient() names
};

}  // namespace rondo
