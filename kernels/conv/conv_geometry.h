// The sizes of a convolution in a plain struct, checked once on the host and passed to the kernels.
#pragma once

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/reduce/moments.h>

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

// y from x, dx from dy, dw from dy and x. An implicit GEMM computes the first two with the same kernel.
enum class ConvOperation { forward, data_gradient, filter_gradient };

// The epilogue of a forward convolution, after the argument checks. Null pointers: none.
template <class T>
struct ConvEpilogue {
  const float* bias = nullptr;
  const T* residual = nullptr;
  bool relu = false;
  PartialMoments moments = {};  // of y, for kernels of tensor cores; others ignore them
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
