// Cross-entropy with the options of PyTorch's cross_entropy(): classes with weights, labels that are ignored,
// smoothed labels, and probabilities as targets. softmax_cross_entropy() (cross_entropy.h) is the loss
// without them, with the statistics of a training.
//
// logits: [rows, classes] row-major, any stride >= classes. gradient: the same shape with its own stride; it
// may be the logits (same pointer and stride), and may be omitted (an empty view). Both float32, bfloat16 or
// float16, of one type. loss: one float32 in device memory. losses: [rows], float32; may be omitted. Aligned
// to the elements; accesses of 16 bytes where all rows begin at multiples of 16 bytes and classes fill whole
// accesses.
//
// Numerics: float32 with the row's largest logit subtracted; a 16-bit gradient is rounded once, to nearest
// even. The losses of the rows are floats and are added in double. With p = softmax(logits[i]), p[j] has a
// relative error below 2^-21. Where the loss of a row is near 0 its error is absolute, below 2^-21 of its
// weights; that of softmax_cross_entropy() is relative.
// -infinity is a class of probability 0. If the label has it, the row's loss is +infinity. If all classes of
// a row have it, or a logit is +infinity or NaN, loss and gradient of the row are NaN. A weight or a
// probability of 0 times an infinite logarithm is NaN, as in PyTorch.
// Determinism: the order of the additions depends only on rows and classes, not on the alignment or the
// device (reduce/rows.cuh).
// Errors: bad_argument for negative sizes, no classes with rows, 2^30 classes or more, a stride below
// classes, sizes that do not match, label_smoothing not in [0, 1], null or misaligned pointers, an overlap, a
// workspace that is too small.
// Traffic: up to 8192 classes the inputs are read once and the gradient is written once. Longer rows are read
// twice.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

enum class LossReduction : uint8_t { mean, sum };

struct CrossEntropyOptions {
  VectorView<const float> class_weights = {};  // [classes]; omitted: 1
  int32_t ignore_index = -100;                 // rows with this label have loss 0 and gradient 0
  float label_smoothing = 0;                   // from 0 to 1
  LossReduction reduction = LossReduction::mean;
  float scale = 1;  // the gradient is that of scale * *loss
};

// The workspace in bytes for cross_entropy() and cross_entropy_of_probabilities().
int64_t cross_entropy_workspace_bytes(int64_t rows, int64_t classes);

// With l = labels[i], w = class_weights, s = label_smoothing, C = classes:
//   losses[i] = -(1 - s) * w[l] * log(p[l]) - s / C * sum over j of w[j] * log(p[j])
//   *loss = sum over i of losses[i],   divided by the sum over i of w[labels[i]] if the reduction is mean
//
// The sum of the weights has no ignored rows. If it is 0, also without rows, the mean is NaN. labels: [rows],
// int32. A label out of range that is not ignore_index is never used as an index: the row's loss is NaN, its
// gradient 0 and its weight 0 (PyTorch ends the program).
template <InputType T = const float>
[[nodiscard]] Status cross_entropy(NonDeduced<MatrixView<std::remove_const_t<T>>> gradient, float* loss,
                                   VectorView<float> losses, MatrixView<T> logits,
                                   VectorView<const int32_t> labels, const CrossEntropyOptions& options,
                                   Workspace workspace, cudaStream_t stream);

// With q[j] = (1 - s) * targets[i, j] + s / C:
//   losses[i] = -sum over j of w[j] * q[j] * log(p[j])
//   *loss = sum over i of losses[i],   divided by rows if the reduction is mean
//
// targets: [rows, classes] of the type of the logits, any stride >= classes. Their sums need not be 1.
// ignore_index is not used. Without rows the mean is NaN.
template <InputType T = const float>
[[nodiscard]] Status cross_entropy_of_probabilities(
    NonDeduced<MatrixView<std::remove_const_t<T>>> gradient, float* loss, VectorView<float> losses,
    MatrixView<T> logits, NonDeduced<MatrixView<const std::remove_const_t<T>>> targets,
    const CrossEntropyOptions& options, Workspace workspace, cudaStream_t stream);

}  // namespace rondo
