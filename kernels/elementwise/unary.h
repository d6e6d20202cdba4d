// An operator on each element of a matrix, with any stride.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

namespace rondo {

// IEEE 754's operations: negate, absolute, square, reciprocal (1 / x) and sqrt; sqrt of a negative number is
// NaN. exp, log and tanh are those of core/elementary.h and core/activation_functions.h: the relative error
// of exp and log is below 3 * 2^-24, of tanh below 2^-21; log of 0 is minus infinity, of a negative number
// NaN. relu(), gelu() and sigmoid() are operators of their own (kernels/activation), with their gradients.
enum class UnaryOperator : uint8_t { negate, absolute, square, reciprocal, sqrt, exp, log, tanh };

// y[i, j] = op(x[i, j])
//
// x, y: [rows, cols] row-major, each with any stride; float32, bfloat16 or float16, aligned to the elements.
// No units. Computed in float32; a 16-bit result is rounded once, to nearest even.
// Numerics: same bits on every device, except that a NaN may have other bits. NaN stays NaN.
// Aliasing: y may be x (same pointer and stride), otherwise they must not overlap.
// Errors: bad_argument for an unknown operator, negative sizes, a stride below cols, different shapes, a null
// or misaligned pointer, an overlap. Without rows or columns nothing is done.
// Traffic: one read, one write; accesses of 16 bytes as in elementwise() (elementwise.cuh).
template <ValueType T = float>
[[nodiscard]] Status unary(MatrixView<T> y, NonDeduced<MatrixView<const T>> x, UnaryOperator op,
                           cudaStream_t stream);

}  // namespace rondo
