// The logistic function, elementwise on `size` elements of any shape.
//
// Both functions: float32, bfloat16 or float16, computed in float32, a 16-bit result rounded once to nearest
// even; aligned to the elements, bound by memory traffic: one read of each input and one write. The output
// may be an input (the same pointer), otherwise they must not overlap.
// Numerics: the relative error is below 2^-21 besides the rounding to 16 bits. NaN stays NaN. Same bits on
// every device (core/activation_functions.h).
// Errors: bad_argument for a negative or unequal size, a null or misaligned pointer, an overlap.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// y = 1 / (1 + exp(-x))
template <ValueType T = float>
[[nodiscard]] Status sigmoid(VectorView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream);

// dx = dy y (1 - y), with y = sigmoid(x)
template <ValueType T = float>
[[nodiscard]] Status sigmoid_backward(VectorView<T> dx, NonDeduced<VectorView<const T>> dy,
                                      NonDeduced<VectorView<const T>> y, cudaStream_t stream);

}  // namespace rondo
