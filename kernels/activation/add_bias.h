// The sum of a matrix and a row: a bias for each column, or an embedding of positions for each sample.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// y[i, j] = x[i, j] + bias[j]
//
// x, y: [rows, cols] row-major, each with any stride; float32, bfloat16 or float16; bias: [cols], float32.
// Added in float32, one rounding. Aligned to the elements; accesses of 16 bytes if all rows begin at
// multiples of 16 bytes. y may be x, otherwise nothing may overlap. The gradient of x is dy, that of the bias
// is bias_gradient() (kernels/reduce).
// Errors: bad_argument for negative sizes, sizes that do not match, a stride below cols, a null or misaligned
// pointer, an overlap. Traffic: reads x once, writes y once.
template <ValueType T = float>
[[nodiscard]] Status add_bias(MatrixView<T> y, NonDeduced<MatrixView<const T>> x,
                              VectorView<const float> bias, cudaStream_t stream);

}  // namespace rondo
