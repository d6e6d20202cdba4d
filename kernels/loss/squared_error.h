// Squared error: the loss of a regression and its gradient, in one pass.
#pragma once

#include <rondo/kernels/loss/cross_entropy.h>

namespace rondo {

// The workspace in bytes for squared_error().
int64_t squared_error_workspace_bytes(int64_t rows, int64_t cols);

// loss_stats->loss  += sum over i, j of (prediction[i, j] - target[i, j])^2;   loss_stats->rows += rows
// gradient[i, j] = 2 * (prediction[i, j] - target[i, j]) * scale
//
// This is the gradient of scale * loss: pass 1 / (rows of the whole batch) for the mean over samples of the
// summed squares, or 1 / (rows * cols) for the mean over elements. prediction, target, gradient: [rows, cols]
// row-major and packed. The gradient may be the prediction (in place), or omitted (an empty view).
// loss_stats: device memory, aligned to 8; correct and bad_labels are not changed. prediction and gradient:
// float32, bfloat16 or float16, both of one type; target: float32. Aligned to the elements; accesses of 16
// bytes if the alignment allows it. Differences are floats, and a 16-bit gradient is rounded once more, to
// nearest even; squares are summed in double, in an order that depends only on the size. A NaN input gives
// NaN. No other operands may overlap. Errors: bad_argument for different shapes, a stride that is not cols,
// null or misaligned pointers, an overlap, a workspace that is too small. rows == 0 does nothing. Traffic:
// two reads and one write per element.
template <InputType T = const float>
[[nodiscard]] Status squared_error(NonDeduced<MatrixView<std::remove_const_t<T>>> gradient,
                                   LossStats* loss_stats, MatrixView<T> prediction,
                                   MatrixView<const float> target, float scale, Workspace workspace,
                                   cudaStream_t stream);

}  // namespace rondo
