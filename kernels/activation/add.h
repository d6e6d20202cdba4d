// The sum of two tensors, with or without a ReLU: where a residual block's two paths meet.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// y = a + b, or max(a + b, 0) with NaN staying NaN
//
// float32, one rounding, any alignment of 4 bytes. y may be a or b, else they must not overlap. The gradient of both a and b
// is relu_backward(dy, y), or dy itself. Errors: bad_argument for a negative or unequal size, a null or
// misaligned pointer, an overlap. Traffic: two reads, one write.
[[nodiscard]] Status add(VectorView<float> y, VectorView<const float> a, VectorView<const float> b, bool relu,
                         cudaStream_t stream);

}  // namespace rondo
