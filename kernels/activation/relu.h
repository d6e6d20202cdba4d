// The rectified linear unit, elementwise on `size` elements of any shape.
//
// All functions: float32, bfloat16 or float16, exact (no rounding), aligned to the elements, bound by memory
// traffic: one read of each input and one write. The output may be an input (the same pointer), otherwise
// they must not overlap.
// Errors: bad_argument for a negative or unequal size, a null or misaligned pointer, an overlap.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// y = max(x, 0). NaN stays NaN; -0 becomes +0.
template <ValueType T = float>
[[nodiscard]] Status relu(VectorView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream);

// dx = y > 0 ? dy : 0, with y = relu(x). The gradient is 0 where x is 0 and where y is NaN.
template <ValueType T = float>
[[nodiscard]] Status relu_backward(VectorView<T> dx, NonDeduced<VectorView<const T>> dy,
                                   NonDeduced<VectorView<const T>> y, cudaStream_t stream);

}  // namespace rondo
