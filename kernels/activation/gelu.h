// The Gaussian error linear unit (Hendrycks and Gimpel, 2016), elementwise on `size` elements of any shape.
//
// All functions: float32, bfloat16 or float16, computed in float32, a 16-bit result rounded once to nearest
// even; aligned to the elements, bound by memory traffic: one read of each input and one write. The output
// may be an input (the same pointer), otherwise they must not overlap.
// Numerics: the relative error of gelu() is below 2^-21, of gelu_tanh() below 2^-21 + 2^-22 |2 u| for its
// argument u below; that of the gradients is an absolute one, below 2^-21 |dy|. NaN stays NaN; the limits at
// the infinities are exact. Same bits on every device (core/activation_functions.h).
// Errors: bad_argument for a negative or unequal size, a null or misaligned pointer, an overlap.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// y = x P(x), where P(x) = (1 + erf(x / sqrt(2))) / 2 is the standard normal distribution. PyTorch's
// gelu(approximate='none').
template <ValueType T = float>
[[nodiscard]] Status gelu(VectorView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream);

// dx = dy (P(x) + x p(x)), with the normal density p. x is the input of gelu().
template <ValueType T = float>
[[nodiscard]] Status gelu_backward(VectorView<T> dx, NonDeduced<VectorView<const T>> dy,
                                   NonDeduced<VectorView<const T>> x, cudaStream_t stream);

// y = x (1 + tanh(u)) / 2, with u = sqrt(2 / pi) (x + 0.044715 x^3). PyTorch's gelu(approximate='tanh').
template <ValueType T = float>
[[nodiscard]] Status gelu_tanh(VectorView<T> y, NonDeduced<VectorView<const T>> x, cudaStream_t stream);

// dx = dy times the slope of gelu_tanh() at its input x.
template <ValueType T = float>
[[nodiscard]] Status gelu_tanh_backward(VectorView<T> dx, NonDeduced<VectorView<const T>> dy,
                                        NonDeduced<VectorView<const T>> x, cudaStream_t stream);

}  // namespace rondo
