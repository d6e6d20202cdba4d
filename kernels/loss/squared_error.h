// Squared error: the loss of a regression and its gradient, in one pass.
#pragma once

#include <rondo/kernels/loss/cross_entropy.h>

namespace rondo {

// Bytes of workspace that squared_error() wants.
int64_t squared_error_workspace_bytes(int64_t rows, int64_t cols);

// loss_stats->loss  += sum over i, j of (prediction[i, j] - target[i, j])^2;   loss_stats->rows += rows
// gradient[i, j] = 2 * (prediction[i, j] - target[i, j]) * scale
//
// which is the gradient of scale * loss: pass 1 / (rows of the whole batch) for the mean over samples of the summed squares,
// 1 / (rows * cols) for the mean over elements. prediction, target, gradient: [rows, cols] row-major and packed; the
// gradient may be the prediction, or be left out (an empty view). loss_stats: device memory, aligned to 8; correct
// and bad_labels are not touched. float32; squares are summed in double, in an order that depends on the size
// alone. NaN in gives NaN out. Nothing else may overlap. Errors: bad_argument for shapes that differ, a
// stride that is not cols, null or misaligned pointers, an overlap, a workspace too small. No rows do
// nothing. Traffic: two reads and a write an element.
[[nodiscard]] Status squared_error(MatrixView<float> gradient, LossStats* loss_stats,
                                   MatrixView<const float> prediction, MatrixView<const float> target,
                                   float scale, Workspace workspace, cudaStream_t stream);

}  // namespace rondo
