// Softmax cross-entropy: the loss of a batch, its gradient and the number of correct predictions, in one
// pass.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// Sums over all rows processed since the caller set them to zero. They are in device memory. The host reads
// them when needed; once per epoch is enough.
struct LossStats {
  double loss = 0;         // sum of the losses (not the mean)
  int64_t correct = 0;     // rows whose largest logit is the label's; among equal logits the first counts
  int64_t rows = 0;        // number of rows
  int64_t bad_labels = 0;  // rows whose label is not in [0, classes)

  LossStats& operator+=(const LossStats& other) {
    loss += other.loss, correct += other.correct;
    rows += other.rows, bad_labels += other.bad_labels;
    return *this;
  }
};

// The workspace in bytes for softmax_cross_entropy(); 0 for at most 64 classes and 128 rows.
int64_t softmax_cross_entropy_workspace_bytes(int64_t rows, int64_t classes);

// For every row i, with l = labels[i] and softmax(z)[j] = exp(z[j]) / sum over k of exp(z[k]):
//   loss(i)         = -log(softmax(logits[i])[l]),     added to loss_stats->loss
//   gradient[i, j]  = (softmax(logits[i])[j] - (j == l ? 1 : 0)) * scale
// This is the gradient of scale * loss(i): for a mean over a batch pass 1 / (size of the whole batch), also
// if these rows are only a part of it. (Bishop, Pattern Recognition and Machine Learning, section 4.3.4.)
//
// logits: [rows, classes] row-major, any stride >= classes. gradient: the same shape with its own stride; it
// may be the logits (same pointer and stride), and may be omitted (an empty view), which computes only
// loss_stats. labels: [rows], int32. logits and gradient: float32, bfloat16 or float16, both of one type.
// Aligned to the elements; accesses of 16 bytes if the alignment of the rows and the number of classes allow
// it. loss_stats: device memory, aligned to 8.
// Numerics: float32 with the largest logit subtracted; a 16-bit gradient is rounded once, to nearest even.
// With float16 choose the scale so that the gradients stay above 2^-24, below which they become 0. A loss
// near 0, and the gradient of a correct and confident prediction, keep their relative accuracy: the loss uses
// log1p, and 1 - p is a sum, not a difference. Losses are added in double. No exponential overflows, so
// finite logits have a finite gradient. The loss of a row is a float: if the label's logit is more than
// 3.4e38 below the largest one, it is +infinity.
// Infinite logits: -infinity is a class of probability 0. If the label has it, the loss is +infinity and the
// gradient is finite. If all classes of a row have it, or a logit is +infinity or NaN, the row's loss and
// gradient are NaN, and the row does not count as correct.
// A label out of range is never used as an index: the row's loss is NaN, its gradient is 0, and it is counted
// in loss_stats->bad_labels.
// Determinism: a fixed tree of additions that depends only on rows and classes, not on the alignment.
// Aliasing: no other operands may overlap.
// Errors: bad_argument for negative sizes, classes == 0 with rows, a stride below classes, different shapes,
// null or misaligned pointers, an overlap, a workspace that is too small. rows == 0 does nothing.
// Traffic: logits are read once from memory (and again from the cache), the gradient is written once.
template <InputType T = const float>
[[nodiscard]] Status softmax_cross_entropy(NonDeduced<MatrixView<std::remove_const_t<T>>> gradient,
                                           LossStats* loss_stats, MatrixView<T> logits,
                                           VectorView<const int32_t> labels, float scale, Workspace workspace,
                                           cudaStream_t stream);

}  // namespace rondo
