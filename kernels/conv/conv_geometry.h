// The sizes of a convolution in a plain struct, checked once on the host and passed to the kernels.
#pragma once

#include <rondo/kernels/conv/conv2d.h>

namespace rondo {

struct ConvGeometry {
  int images;              // n
  int h, w, c;             // input
  int k, r, s;             // filter
  int p, q;                // output; its channels are k
  int stride_h, stride_w;  // 1 along an axis with one output: the stride has no effect and might overflow
  int pad_h, pad_w;
  int patch;              // summands per output: r * s * c
  int64_t output_pixels;  // over the whole batch: images * p * q
};

// Names of the operation and its three tensors, for the messages.
struct ConvNames {
  const char* operation;
  const char* input;
  const char* output;
  const char* filter;
};
// Makes all checks of shapes and options in conv2d.h, and fills `geometry`. Does not check pointers and
// workspace.
Status check_conv2d_shapes(const ConvNames& names, const ImageView<const float>& input,
                           const ImageView<const float>& output, const FilterView<const float>& filter,
                           const Conv2dOptions& options, ConvGeometry* geometry);

}  // namespace rondo
