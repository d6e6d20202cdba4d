// An operator on the elements of two matrices, with broadcast over rows or columns.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

namespace rondo {

// IEEE 754's operations. minimum and maximum are NaN if an operand is, as PyTorch's; of two equal operands
// (the zeros are equal) they return b.
enum class BinaryOperator : uint8_t { add, subtract, multiply, divide, minimum, maximum };

// y[i, j] = a[i, j] op b[i, j]
//
// y: [rows, cols] row-major, with any stride. The sides of a and of b are those of y, or 1: 1 x cols is a row
// for all rows, rows x 1 a column for all columns, 1 x 1 a value, as in NumPy. In the other two functions one
// operand is a value from the host. float32, bfloat16 or float16, aligned to the elements. No units.
// Numerics: computed in float32; a 16-bit result is rounded once, to nearest even. Same bits on every device,
// except that a NaN may have other bits.
// Aliasing: y may be an operand of its shape (same pointer and stride), otherwise y overlaps nothing.
// Errors: bad_argument for an unknown operator, negative sizes, a stride below cols, sides that do not match,
// a null or misaligned pointer, an overlap. Without rows or columns nothing is done.
// Traffic: one read of each operand, one write; accesses of 16 bytes as in elementwise() (elementwise.cuh).
template <ValueType T = float>
[[nodiscard]] Status binary(MatrixView<T> y, NonDeduced<MatrixView<const T>> a,
                            NonDeduced<MatrixView<const T>> b, BinaryOperator op, cudaStream_t stream);
template <ValueType T = float>
[[nodiscard]] Status binary(MatrixView<T> y, NonDeduced<MatrixView<const T>> a, float b, BinaryOperator op,
                            cudaStream_t stream);
template <ValueType T = float>
[[nodiscard]] Status binary(MatrixView<T> y, float a, NonDeduced<MatrixView<const T>> b, BinaryOperator op,
                            cudaStream_t stream);

}  // namespace rondo
