// Average and max pooling, forward and backward, of NHWC float images.
//
// Letters: x is [n, h, w, c], y is [n, p, q, c]. Window (p, q) covers the rows p * stride_h - pad_h ... +
// height - 1 and the columns q * stride_w - pad_w ... + width - 1; what lies outside the image is left out,
// and p = floor((h + 2 pad_h - height) / stride_h) + 1 (the "floor" mode of other libraries, with no
// dilation).
//
// All functions: float32; any alignment of 4 bytes, 16 (or 8) byte accesses where the pointers and c allow;
// no workspace; an output overlaps no other operand; images or channels of zero do nothing. Sums run over the
// window row by row, backward sums over the windows row by row: the order never depends on the device.
// Errors: bad_argument for a negative side, a null or misaligned pointer, an overlap, a window or stride
// below 1, padding outside [0, window / 2], a window that does not fit the padded image, shapes that do not
// belong together, an invalid enumerator, a side above 65535, and an image or window of 2^31 elements or
// more.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// A stride that is left out is the window's own side: windows lie beside each other.
struct PoolWindow {
  int64_t height = 2;
  int64_t width = 2;
  int64_t stride_h = height;
  int64_t stride_w = width;
  int64_t pad_h = 0;
  int64_t pad_w = 0;
};

// What an average divides by: `window` counts padding as zeros (height * width always, the default of
// PyTorch), `image` counts only the elements inside the image.
enum class AverageOver { window, image };

// Outputs along one side of `size` elements; 0 for a window that does not fit and for arguments that
// avg_pool() refuses.
constexpr int64_t pooled_size(int64_t size, int64_t window, int64_t stride, int64_t pad) {
  constexpr int64_t kMost = int64_t{1} << 61;  // so that size + 2 * pad does not overflow
  if (size < 1 || window < 1 || stride < 1 || pad < 0 || pad > window / 2) return 0;
  if (size > kMost || pad > kMost || window > size + 2 * pad) return 0;
  return (size + 2 * pad - window) / stride + 1;
}

// y[n, p, q, c] = (sum of x over the window) / (its size). Float; the quotient is made by multiplying with
// 1 / size, which is exact for windows of 2^k elements. Reads x once (windows that overlap find it in the
// cache), writes y once.
[[nodiscard]] Status avg_pool(ImageView<float> y, ImageView<const float> x, const PoolWindow& window,
                              AverageOver over, cudaStream_t stream);

// dx[n, h, w, c] = sum over the windows (p, q) that hold (h, w) of dy[n, p, q, c] / (size of the window):
// the transpose of avg_pool. Overwrites dx. Reads dy once, writes dx once.
[[nodiscard]] Status avg_pool_backward(ImageView<float> dx, ImageView<const float> dy,
                                       const PoolWindow& window, AverageOver over, cudaStream_t stream);

// The same for x = relu(z): writes dz = dx where x > 0 and 0 elsewhere, so that the gradient of the
// ReLU costs no pass of its own. `x` is what avg_pool read, of dz's shape.
[[nodiscard]] Status avg_pool_relu_backward(ImageView<float> dz, ImageView<const float> dy,
                                            ImageView<const float> x, const PoolWindow& window,
                                            AverageOver over, cudaStream_t stream);

// y[n, p, q, c] = max of x over the window; NaN when the window holds one. The padding never wins.
// Reads x once, writes y once.
[[nodiscard]] Status max_pool(ImageView<float> y, ImageView<const float> x, const PoolWindow& window,
                              cudaStream_t stream);

// dx[n, h, w, c] = sum of dy[n, p, q, c] over the windows whose maximum is (h, w). Of equal elements the
// first of the window, row by row, is its maximum; a NaN counts as the largest value. Overwrites dx. x and y
// are the input and output of max_pool: the maximum is found again by comparing x with y, which needs no
// array of indices, no scatter and no atomics. Reads x, y, dy and writes dx once.
[[nodiscard]] Status max_pool_backward(ImageView<float> dx, ImageView<const float> dy,
                                       ImageView<const float> y, ImageView<const float> x,
                                       const PoolWindow& window, cudaStream_t stream);

}  // namespace rondo
