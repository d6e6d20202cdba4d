// Softmax and its logarithm over the rows of a matrix, forward and backward.
//
// x, y and their gradients: [rows, cols] row-major, each with any stride >= cols; float32, bfloat16 or
// float16, all of one type, aligned to the elements; accesses of 16 bytes where all rows begin at multiples
// of 16 bytes and cols fills whole accesses. No units. They are those of PyTorch's softmax(dim=-1).
//
// Numerics: float32, with the row's largest value subtracted, so that no exponential overflows; a 16-bit
// result is rounded once, to nearest even. `exp` is exp_of_negative() (core/elementary.h). The relative error
// of softmax() is below 2^-21, that of 1 + |y| of log_softmax() below 2^-22, besides the rounding of x - max.
// -infinity is a value of probability 0, with the logarithm -infinity. If all values of a row are -infinity,
// or one is +infinity or NaN, the whole row becomes NaN. A difference of two finite values below -3.4e38
// counts as -infinity.
// Determinism: the order of the additions depends only on cols, not on the alignment or the device
// (reduce/rows.cuh). The bits of a row do not depend on the other rows.
// Workspace: softmax_workspace_bytes(), for all four.
// Aliasing: the output may be an input (same pointer and stride). No other operands may overlap.
// Errors: bad_argument for negative sizes, a stride below cols, 2^30 columns or more, different shapes, null
// or misaligned pointers, an overlap, a workspace that is too small. Without rows or columns nothing is done.
// Traffic: up to 8192 columns each input is read once and the output is written once. Longer rows are read
// twice.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// The workspace in bytes for softmax(), log_softmax() and their gradients; 0 up to 8192 columns.
int64_t softmax_workspace_bytes(int64_t rows, int64_t cols);

// y[i, j] = exp(x[i, j]) / sum over k of exp(x[i, k])
template <ValueType T = float>
[[nodiscard]] Status softmax(MatrixView<T> y, NonDeduced<MatrixView<const T>> x, Workspace workspace,
                             cudaStream_t stream);

// y[i, j] = x[i, j] - log(sum over k of exp(x[i, k]))
template <ValueType T = float>
[[nodiscard]] Status log_softmax(MatrixView<T> y, NonDeduced<MatrixView<const T>> x, Workspace workspace,
                                 cudaStream_t stream);

// dx[i, j] = y[i, j] * (dy[i, j] - sum over k of dy[i, k] * y[i, k]), with y = softmax(x).
template <ValueType T = float>
[[nodiscard]] Status softmax_backward(MatrixView<T> dx, NonDeduced<MatrixView<const T>> dy,
                                      NonDeduced<MatrixView<const T>> y, Workspace workspace,
                                      cudaStream_t stream);

// dx[i, j] = dy[i, j] - exp(y[i, j]) * sum over k of dy[i, k], with y = log_softmax(x).
template <ValueType T = float>
[[nodiscard]] Status log_softmax_backward(MatrixView<T> dx, NonDeduced<MatrixView<const T>> dy,
                                          NonDeduced<MatrixView<const T>> y, Workspace workspace,
                                          cudaStream_t stream);

}  // namespace rondo
