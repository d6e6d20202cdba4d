// Average and max pooling, forward and backward, of NHWC images.
//
// Notation: x is [n, h, w, c], y is [n, p, q, c]. Window (p, q) covers the rows p * stride_h - pad_h ... +
// height - 1 and the columns q * stride_w - pad_w ... + width - 1. Elements outside the image are ignored.
// The number of rows of y is floor((h + 2 pad_h - height) / stride_h) + 1 (the "floor" mode of other
// libraries); there is no dilation.
//
// All functions: float32, bfloat16 or float16, with float arithmetic; aligned to the elements, with accesses
// of up to 16 bytes if the pointers and c allow it. No workspace. An output must not overlap any other
// operand. Zero images or channels do nothing. Sums run over a window row by row; backward sums run over the
// windows row by row. The order never depends on the device.
// Errors: bad_argument for a negative side, a null or misaligned pointer, an overlap, a window or stride
// below 1, padding outside [0, window / 2], a window that does not fit the padded image, shapes that do not
// match, an invalid enumerator, a side above 65535, and an image or window of 2^31 elements or more.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// The default stride is the window's side: the windows then do not overlap.
struct PoolWindow {
  int64_t height = 2;
  int64_t width = 2;
  int64_t stride_h = height;
  int64_t stride_w = width;
  int64_t pad_h = 0;
  int64_t pad_w = 0;
};

// The divisor of an average. `window`: height * width, padding counts as zeros (PyTorch's default). `image`:
// the number of elements inside the image.
enum class AverageOver { window, image };

// The number of outputs along one side of `size` elements. 0 for a window that does not fit and for arguments
// that avg_pool() rejects.
constexpr int64_t pooled_size(int64_t size, int64_t window, int64_t stride, int64_t pad) {
  constexpr int64_t kMost = int64_t{1} << 61;  // limit below which size + 2 * pad does not overflow
  if (size < 1 || window < 1 || stride < 1 || pad < 0 || pad > window / 2) return 0;
  if (size > kMost || pad > kMost || window > size + 2 * pad) return 0;
  return (size + 2 * pad - window) / stride + 1;
}

// y[n, p, q, c] = (sum of x over the window) / (size of the window). The division is a multiplication by
// 1 / size in float, which is exact for windows of 2^k elements. Reads x once (overlapping windows hit the
// cache), writes y once.
template <ValueType T = float>
[[nodiscard]] Status avg_pool(ImageView<T> y, NonDeduced<ImageView<const T>> x, const PoolWindow& window,
                              AverageOver over, cudaStream_t stream);

// dx[n, h, w, c] = sum over the windows (p, q) that contain (h, w) of dy[n, p, q, c] / (size of the window).
// This is the transpose of avg_pool. Overwrites dx. Reads dy once, writes dx once.
template <ValueType T = float>
[[nodiscard]] Status avg_pool_backward(ImageView<T> dx, NonDeduced<ImageView<const T>> dy,
                                       const PoolWindow& window, AverageOver over, cudaStream_t stream);

// The same for x = relu(z), with the gradient of the ReLU fused: dz = dx where x > 0 and 0 elsewhere. `x` is
// the input of avg_pool and has the shape of dz.
template <ValueType T = float>
[[nodiscard]] Status avg_pool_relu_backward(ImageView<T> dz, NonDeduced<ImageView<const T>> dy,
                                            NonDeduced<ImageView<const T>> x, const PoolWindow& window,
                                            AverageOver over, cudaStream_t stream);

// y[n, p, q, c] = max of x over the window; NaN if the window contains a NaN. Padding is never the maximum.
// Reads x once, writes y once.
template <ValueType T = float>
[[nodiscard]] Status max_pool(ImageView<T> y, NonDeduced<ImageView<const T>> x, const PoolWindow& window,
                              cudaStream_t stream);

// dx[n, h, w, c] = sum of dy[n, p, q, c] over the windows whose maximum is (h, w). If several elements of a
// window are equal, the first in row-major order is its maximum; a NaN counts as the largest value.
// Overwrites dx. x and y are the input and output of max_pool. The maximum is found again by comparing x with
// y, which needs no index array, no scatter and no atomics. Windows of 2 x 2 with stride 2 don't read y: they
// find the maximum of x again. Reads x, y and dy once, writes dx once.
template <ValueType T = float>
[[nodiscard]] Status max_pool_backward(ImageView<T> dx, NonDeduced<ImageView<const T>> dy,
                                       NonDeduced<ImageView<const T>> y, NonDeduced<ImageView<const T>> x,
                                       const PoolWindow& window, cudaStream_t stream);

}  // namespace rondo
