// The checks of the shapes and the options of a convolution.
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>

namespace rondo {

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

// Checks options.math and options.algorithm for images and filters of a type, and whether the device has the
// arithmetic.
Status check_conv2d_options(const char* operation, const Conv2dOptions& options, DType type);

// All checks of shapes and options for images and filters of type T.
template <class T, class X, class Y, class W>
Status check_conv2d(const ConvNames& names, const ImageView<X>& input, const ImageView<Y>& output,
                    const FilterView<W>& filter, const Conv2dOptions& options, ConvGeometry* geometry) {
  const auto image = [](const auto& view) {
    return ImageView<const float>{nullptr, view.images, view.height, view.width, view.channels};
  };
  RONDO_RETURN_IF_ERROR(check_conv2d_options(names.operation, options, dtype_of<T>));
  return check_conv2d_shapes(names, image(input), image(output),
                             {nullptr, filter.out_channels, filter.height, filter.width, filter.in_channels},
                             options, geometry);
}

}  // namespace rondo
