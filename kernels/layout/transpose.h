// Transposed copies of matrices, and conversions between the layouts of images and filters, which are such
// copies: one for each image or filter.
//
// All functions: float32, bfloat16 or float16, aligned to the elements. They copy bits, so NaN keeps its
// payload, and the results do not depend on the device. y and x must not overlap. An empty operand is
// allowed. Errors: bad_argument for a negative or unequal size, a stride below cols, a null or misaligned
// pointer, an overlap. Traffic: one read, one write. A block moves a square of 32 x 32 elements. In the
// 16-bit types it moves 64 x 64, in pairs, where sides and strides are even and both pointers are aligned to
// 4 bytes. A matrix with fewer rows or columns than the square leaves a part of each block idle.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// y[b, j, i] = x[b, i, j]: y.batches = x.batches, y.rows = x.cols and y.cols = x.rows. One matrix is a batch
// of 1. x.batch_stride may be 0.
template <ValueType T = float>
[[nodiscard]] Status transpose(MatrixBatchView<T> y, NonDeduced<MatrixBatchView<const T>> x,
                               cudaStream_t stream);

// y[n, h, w, c] = x[n, c, h, w]. x is packed NCHW, with as many elements as y.
template <ValueType T = float>
[[nodiscard]] Status nchw_to_nhwc(ImageView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream);

// y[n, c, h, w] = x[n, h, w, c]. y is packed NCHW, with as many elements as x.
template <ValueType T = float>
[[nodiscard]] Status nhwc_to_nchw(VectorView<T> y, NonDeduced<ImageView<const T>> x, cudaStream_t stream);

// y[k, r, s, c] = x[k, c, r, s]. x is packed OIHW (PyTorch's layout: KCRS), with as many elements as y.
template <ValueType T = float>
[[nodiscard]] Status oihw_to_krsc(FilterView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream);

// y[k, c, r, s] = x[k, r, s, c]. y is packed OIHW, with as many elements as x.
template <ValueType T = float>
[[nodiscard]] Status krsc_to_oihw(VectorView<T> y, NonDeduced<FilterView<const T>> x, cudaStream_t stream);

}  // namespace rondo
