// The sizes of a convolution in one plain struct, checked once on the host and handed to the kernels.
#pragma once

#include <rondo/kernels/conv/conv2d.h>

namespace rondo {

struct ConvGeometry {
  int images;              // n
  int h, w, c;             // input
  int k, r, s;             // filter
  int p, q;                // output; its channels are k
  int stride_h, stride_w;  // 1 along an axis with one output, where it means nothing and might overflow
  int pad_h, pad_w;
  int patch;              // the summands of one output: r * s * c
  int64_t output_pixels;  // of the whole batch: images * p * q
};

// Names of the three tensors in the messages.
struct ConvNames {
  const char* operation;
  const char* input;
  const char* output;
  const char* filter;
};
// Checks all that conv2d.h promises of shapes and options, and fills `geometry`. Pointers and workspace are
// not looked at.
Status check_conv2d_shapes(const ConvNames& names, const ImageView<const float>& input,
                           const ImageView<const float>& output, const FilterView<const float>& filter,
                           const Conv2dOptions& options, ConvGeometry* geometry);

}  // namespace rondo
