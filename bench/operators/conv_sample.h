// The description of a convolution for Rondo and cuDNN, and a check of any of its three results in any
// layout.
#pragma once

#include <rondo/kernels/conv/conv2d.h>

#include <cstdint>
#include <vector>

namespace rondo::bench {

struct ConvLayer {
  const char* name;
  int64_t n, h, w, c;  // input
  int64_t k, r, s;     // filter
  int64_t stride, pad;
  int64_t dilation = 1, groups = 1;

  int64_t p() const { return conv2d_output_size(h, r, stride, pad, dilation, pad); }
  int64_t q() const { return conv2d_output_size(w, s, stride, pad, dilation, pad); }
  int64_t group_channels() const { return c / groups; }  // of the filter
  int64_t x_size() const { return n * h * w * c; }
  int64_t y_size() const { return n * p() * q() * k; }
  int64_t filter_size() const { return k * r * s * group_channels(); }
  // Two per multiply-add; padding counts as data, which is the usual convention.
  double flops() const { return 2.0 * static_cast<double>(y_size() * r * s * group_channels()); }
};

enum class ConvOp { forward, data_gradient, filter_gradient };

// The position of the channels: NHWC and KRSC, or NCHW and KCRS.
enum class Channels { last, first };

// Returns whether the result of `op` is correct. x, y and filter are the complete tensors, including the
// result. Compares some values with sums in double. `rounding` is the unit roundoff of the operands.
bool is_convolution(const ConvLayer& layer, ConvOp op, Channels channels, const std::vector<float>& x,
                    const std::vector<float>& y, const std::vector<float>& filter, double rounding);

}  // namespace rondo::bench
