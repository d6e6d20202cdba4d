// Max unpooling: puts pooled values back where max pooling found them. Forward and backward, of NHWC images.
//
// Notation: x is the pooled image [n, p, q, c], y is [n, h, w, c]. `window` is that of the max pooling, whose
// input had the shape of y, and `indices` are what max_pool_with_indices() wrote. Which h and w are possible
// follows from p, q and the window, as in pool.h.
//
// Both functions: float32, bfloat16 or float16; aligned to the elements, with accesses of up to 16 bytes if
// the pointers and c allow it. No workspace. An output must not overlap any other operand. Zero images or
// channels do nothing. No index is used as an address. Errors: those of pool.h.
#pragma once

#include <rondo/kernels/pool/pool.h>

namespace rondo {

// y[n, h, w, c] = x[n, p, q, c] of the last window (p, q), in row-major order, that contains (h, w) and has
// its index; 0 if there is none. (Windows that overlap can have the same index. PyTorch leaves open which one
// it takes.) An index of no element of its window, inside the image or not, has no effect: its value appears
// nowhere. Overwrites y, with exact copies. Reads x and indices once (overlapping windows hit the cache),
// writes y once.
template <ValueType T = float>
[[nodiscard]] Status max_unpool(ImageView<T> y, NonDeduced<ImageView<const T>> x,
                                ImageView<const int32_t> indices, const PoolWindow& window,
                                cudaStream_t stream);

// dx[n, p, q, c] = dy[n, h, w, c] of the element (h, w) to which max_unpool() copied x[n, p, q, c]; 0 if it
// copied it to none. Overwrites dx. `indices` has the shape of dx. Reads indices once and dy at most once,
// writes dx once.
template <ValueType T = float>
[[nodiscard]] Status max_unpool_backward(ImageView<T> dx, NonDeduced<ImageView<const T>> dy,
                                         ImageView<const int32_t> indices, const PoolWindow& window,
                                         cudaStream_t stream);

}  // namespace rondo
