// Binary cross-entropy of logits: an independent yes or no for each column. As PyTorch's
// binary_cross_entropy_with_logits(), with weights by column.
#pragma once

#include <rondo/kernels/loss/weighted_cross_entropy.h>

namespace rondo {

struct BinaryCrossEntropyOptions {
  VectorView<const float> weights = {};           // [cols], of the loss of a column; omitted: 1
  VectorView<const float> positive_weights = {};  // [cols], of its positive part (pos_weight); omitted: 1
  LossReduction reduction = LossReduction::mean;
  float scale = 1;  // the gradient is that of scale * *loss
};

// The workspace in bytes for binary_cross_entropy().
int64_t binary_cross_entropy_workspace_bytes(int64_t rows, int64_t cols);

// With z = logits[i, j], t = targets[i, j], weights w and positive weights p of column j, and softplus(z) =
// log(1 + exp(z)):
//   losses[i] = sum over j of w * (p * t * softplus(-z) + (1 - t) * softplus(z))
//   *loss = sum over i of losses[i],   divided by rows * cols if the reduction is mean
//
// which is -w * (p * t * log(sigmoid(z)) + (1 - t) * log(1 - sigmoid(z))). logits, targets, gradient: [rows,
// cols] row-major, each with any stride >= cols; float32, bfloat16 or float16, of one type. The gradient may
// be the logits (same pointer and stride), and may be omitted (an empty view). loss: one float32 in device
// memory. losses: [rows], float32; may be omitted. PyTorch's reduction "none" is a loss for each element:
// with one column they are the same. Aligned to the elements; accesses of 16 bytes where all rows begin at
// multiples of 16 bytes and cols fills whole accesses.
// Numerics: float32; a 16-bit gradient is rounded once, to nearest even. Neither exponential overflows, and a
// loss and a gradient near 0 keep their relative accuracy. The losses of the rows are floats and are added in
// double. An infinite logit has the loss infinity or, where its factor is 0, NaN. Without elements the mean
// is NaN.
// Determinism: as in weighted_cross_entropy.h. No other operands may overlap.
// Errors: bad_argument for negative sizes, 2^30 columns or more, a stride below cols, sizes that do not
// match, null or misaligned pointers, an overlap, a workspace that is too small.
// Traffic: up to 8192 columns both inputs are read once and the gradient is written once. Longer rows are
// read twice.
template <InputType T = const float>
[[nodiscard]] Status binary_cross_entropy(NonDeduced<MatrixView<std::remove_const_t<T>>> gradient,
                                          float* loss, VectorView<float> losses, MatrixView<T> logits,
                                          NonDeduced<MatrixView<const std::remove_const_t<T>>> targets,
                                          const BinaryCrossEntropyOptions& options, Workspace workspace,
                                          cudaStream_t stream);

}  // namespace rondo
