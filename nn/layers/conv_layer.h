// What the layers Conv2d and ConvTranspose2d have in common: their options, and the checks of them.
#pragma once

#include <rondo/nn/layers/conv2d.h>

#include <string>

namespace rondo::nn {

// The options of the kernels.
template <class Options>
rondo::Conv2dOptions conv_options(const Options& o, Math math) {
  return {.stride_h = o.stride.height,
          .stride_w = o.stride.width,
          .pad_h = o.padding.height,
          .pad_w = o.padding.width,
          .math = math,
          .dilation_h = o.dilation.height,
          .dilation_w = o.dilation.width,
          .groups = o.groups};
}

// Throws a bad_argument Error, which begins with `layer`, for options and sizes that no image fits.
void check_conv_layer(const char* layer, int64_t out_channels, Size2d filter,
                      const rondo::Conv2dOptions& options, int64_t in_channels);

// "1 x 1", or "1 x 1, at the end 0 x 2"
std::string padding_text(const rondo::Conv2dOptions& options);

// " @ 3x3, stride 2, dilation 2, 4 groups", and ", padding 1 x 1, at the end 0 x 2" if the sides differ
std::string filter_text(Size2d filter, const rondo::Conv2dOptions& options);

}  // namespace rondo::nn
