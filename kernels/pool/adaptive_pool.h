// Adaptive average and max pooling, forward and backward, of NHWC images: the sizes of x and y determine the
// windows.
//
// Notation: x is [n, h, w, c], y is [n, p, q, c]. Window (i, j) of y has the rows floor(i * h / p) ...
// ceil((i + 1) * h / p) - 1 of x and the columns floor(j * w / q) ... ceil((j + 1) * w / q) - 1: the rule of
// PyTorch. The windows cover the image, and neighbours may share elements. p and q may exceed h and w:
// elements are then in several windows. If h is a multiple of p and w of q, the windows are those of
// pool.h with the height h / p, the width w / q and no padding, and the results have the same bits.
//
// All functions: float32, bfloat16 or float16, with float arithmetic; aligned to the elements, with accesses
// of up to 16 bytes if the pointers and c allow it. No workspace. An output must not overlap any other
// operand. Zero images or channels do nothing. Sums run over a window row by row; backward sums run over the
// windows row by row. The order never depends on the device.
// Errors: bad_argument for a height or width below 1 or above 65535, any other negative side, a null or
// misaligned pointer, an overlap, shapes that do not match, and an image of 2^31 elements or more.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// y[n, i, j, c] = (sum of x over the window) / (number of its elements). The division is a multiplication by
// 1 / number in float. Reads x once (windows that share elements hit the cache), writes y once.
template <ValueType T = float>
[[nodiscard]] Status adaptive_avg_pool(ImageView<T> y, NonDeduced<ImageView<const T>> x, cudaStream_t stream);

// dx[n, h, w, c] = sum over the windows (i, j) that contain (h, w) of dy[n, i, j, c] / (number of elements of
// the window): the transpose of adaptive_avg_pool. Overwrites dx. Reads dy once, writes dx once.
template <ValueType T = float>
[[nodiscard]] Status adaptive_avg_pool_backward(ImageView<T> dx, NonDeduced<ImageView<const T>> dy,
                                                cudaStream_t stream);

// y[n, i, j, c] = max of x over the window, and indices[n, i, j, c] = its position, both by the rules of
// max_pool_with_indices() in pool.h. `indices` may be omitted. Reads x once, writes y and indices once.
template <ValueType T = float>
[[nodiscard]] Status adaptive_max_pool(ImageView<T> y, ImageView<int32_t> indices,
                                       NonDeduced<ImageView<const T>> x, cudaStream_t stream);

// dx[n, h, w, c] = sum of dy[n, i, j, c] over the windows that contain (h, w) and have its index. Overwrites
// dx. An index of no element of its window has no effect. `indices` has the shape of dy. Reads indices and dy
// once, writes dx once.
template <ValueType T = float>
[[nodiscard]] Status adaptive_max_pool_backward(ImageView<T> dx, NonDeduced<ImageView<const T>> dy,
                                                ImageView<const int32_t> indices, cudaStream_t stream);

}  // namespace rondo
