// The sum of two tensors, with an optional ReLU: the end of a residual block.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// y = a + b, or y = max(a + b, 0), where NaN stays NaN
//
// float32, bfloat16 or float16, one rounding, aligned to its elements. y may be a or b (in place), otherwise
// it must not overlap them. The gradient of both a and b is dy, or relu_backward(dy, y) with the ReLU.
// Errors: bad_argument for a negative or unequal size, a null or misaligned pointer, an overlap. Traffic: two
// reads, one write.
template <ValueType T = float>
[[nodiscard]] Status add(VectorView<T> y, NonDeduced<VectorView<const T>> a,
                         NonDeduced<VectorView<const T>> b, bool relu, cudaStream_t stream);

}  // namespace rondo
