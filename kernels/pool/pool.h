// Average and max pooling, forward and backward, of NHWC images.
//
// Notation: x is [n, h, w, c], y is [n, p, q, c]. Window (p, q) has the rows p * stride_h - pad_h +
// r * dilation_h for r = 0 ... height - 1 and the columns q * stride_w - pad_w + s * dilation_w for s = 0 ...
// width - 1. Elements outside the image are ignored. With the extent (height - 1) * dilation_h + 1, the
// number of rows of y is floor((h + pad_h + pad_bottom - extent) / stride_h) + 1. In ceil mode it is
// ceil((h + pad_h + pad_bottom - extent) / stride_h) + 1, less the last window if that starts at or below row
// h: the rule of PyTorch. Columns likewise. The last window can then reach beyond the padded image. The first
// window must fit the padded image; PyTorch also accepts one that does not. Only max pooling has dilation, as
// in PyTorch. Padding is below the extent, and if there is padding before the image, the dilation is at most
// the image's side. So every window contains an element of the image.
//
// All functions: float32, bfloat16 or float16, with float arithmetic; aligned to the elements, with accesses
// of up to 16 bytes if the pointers and c allow it. No workspace. An output must not overlap any other
// operand. Zero images or channels do nothing. Sums run over a window row by row; backward sums run over the
// windows row by row. The order never depends on the device.
// Errors: bad_argument for a negative side, a null or misaligned pointer, an overlap, a window, stride or
// dilation below 1, a dilation of an average other than 1, padding outside [0, extent - 1], a dilation beyond
// a padded image, a window that does not fit the padded image, shapes that do not match, an invalid
// enumerator, a side above 65535 (of image, pooled image, window or stride), and an image or window of 2^31
// elements or more.
//
// In adaptive_pool.h the shapes of x and y determine the windows; max_unpool.h inverts max pooling.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <optional>

namespace rondo {

// The default stride is the window's side: the windows then do not overlap. The padding below and to the
// right is by default that above and to the left.
struct PoolWindow {
  int64_t height = 2;
  int64_t width = 2;
  int64_t stride_h = height;
  int64_t stride_w = width;
  int64_t pad_h = 0;
  int64_t pad_w = 0;
  std::optional<int64_t> pad_bottom = {}, pad_right = {};
  bool ceil_mode = false;
  int64_t dilation_h = 1;  // distance of a window's rows; of its columns
  int64_t dilation_w = 1;

  constexpr int64_t bottom() const { return pad_bottom.value_or(pad_h); }
  constexpr int64_t right() const { return pad_right.value_or(pad_w); }
};

// The divisor of an average. `window`: the number of elements inside the padded image, padding counts as
// zeros (PyTorch's default). This is height * width except for the last windows of ceil mode. `image`: the
// number of elements inside the image.
enum class AverageOver { window, image };

// The number of outputs along one side of `size` elements with `pad` before it and `pad_end` behind it. 0 for
// a window that does not fit and for arguments that max_pool() rejects.
constexpr int64_t pooled_size(int64_t size, int64_t window, int64_t stride, int64_t pad, int64_t pad_end,
                              bool ceil_mode, int64_t dilation = 1) {
  constexpr int64_t kMost = int64_t{1} << 60;  // limit below which size + pad + pad_end does not overflow
  if (size < 1 || window < 1 || stride < 1 || dilation < 1 || pad < 0 || pad_end < 0) return 0;
  if (size > kMost || pad > kMost || pad_end > kMost) return 0;
  const int64_t padded = size + pad + pad_end;
  if (window - 1 > (padded - 1) / dilation) return 0;
  const int64_t extent = (window - 1) * dilation + 1;
  if (pad >= extent || pad_end >= extent || (pad > 0 && dilation > size)) return 0;
  const int64_t floor = (padded - extent) / stride + 1;
  // The start of one more window, floor * stride, must be below size + pad.
  const bool one_more = ceil_mode && (padded - extent) % stride != 0 && floor <= (size + pad - 1) / stride;
  return floor + one_more;
}
constexpr int64_t pooled_size(int64_t size, int64_t window, int64_t stride, int64_t pad) {
  return pooled_size(size, window, stride, pad, pad, false);
}
constexpr int64_t pooled_height(int64_t height, const PoolWindow& w) {
  return pooled_size(height, w.height, w.stride_h, w.pad_h, w.bottom(), w.ceil_mode, w.dilation_h);
}
constexpr int64_t pooled_width(int64_t width, const PoolWindow& w) {
  return pooled_size(width, w.width, w.stride_w, w.pad_w, w.right(), w.ceil_mode, w.dilation_w);
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

// max_pool(), and indices[n, p, q, c] = i * w + j of the maximum in row i and column j: its position in its
// image and channel, as in PyTorch. Of equal elements, and of several NaNs, the first in row-major order is
// the maximum (PyTorch takes the last NaN). Reads x once, writes y and indices once.
template <ValueType T = float>
[[nodiscard]] Status max_pool_with_indices(ImageView<T> y, ImageView<int32_t> indices,
                                           NonDeduced<ImageView<const T>> x, const PoolWindow& window,
                                           cudaStream_t stream);

// dx[n, h, w, c] = sum of dy[n, p, q, c] over the windows that contain (h, w) and have its index: the
// gradient of max_pool() without x and y, with the same bits. Overwrites dx. An index of no element of its
// window has no effect. `indices` has the shape of dy. Reads indices and dy once, writes dx once.
template <ValueType T = float>
[[nodiscard]] Status max_pool_with_indices_backward(ImageView<T> dx, NonDeduced<ImageView<const T>> dy,
                                                    ImageView<const int32_t> indices,
                                                    const PoolWindow& window, cudaStream_t stream);

}  // namespace rondo
