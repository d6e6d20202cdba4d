// Softmax cross-entropy: the loss of a batch, its gradient and the number of right predictions, in one pass.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// Sums over every row that was seen since the caller set them to zero. Lives in device memory, so that the
// host reads it when it likes: once an epoch is enough.
struct LossStats {
  double loss = 0;         // sum of the losses (not the mean)
  int64_t correct = 0;     // rows whose largest logit is the label's; of equal logits the first counts
  int64_t rows = 0;        // rows seen
  int64_t bad_labels = 0;  // rows whose label is not in [0, classes)
};

// Bytes of workspace that softmax_cross_entropy() wants; 0 when one block is enough.
int64_t softmax_cross_entropy_workspace_bytes(int64_t rows, int64_t classes);

// For every row i, with l = labels[i] and softmax(z)[j] = exp(z[j]) / sum over k of exp(z[k]):
//   loss(i)         = -log(softmax(logits[i])[l]),     added to loss_stats->loss
//   gradient[i, j]  = (softmax(logits[i])[j] - (j == l ? 1 : 0)) * scale
// which is the gradient of scale * loss(i): pass 1 / (size of the whole batch) for a mean over it, whatever
// part of it these rows are. (Bishop, Pattern Recognition and Machine Learning, section 4.3.4.)
//
// logits is [rows, classes] row-major, any stride >= classes; gradient the same shape with a stride of its
// own, may be the logits themselves (same pointer and stride), and may be left out (an empty view):
// then only the loss_stats is made. labels: rows elements. Types: float32, int32; 4-byte alignment. loss_stats: device
// memory, aligned to 8. Numerics: float32 with the largest logit subtracted, so nothing overflows; a loss
// near 0 and the gradient of a right and certain prediction keep their relative accuracy (log1p, and 1 - p is
// summed, not subtracted). Losses are added in double. A NaN or +infinity among the logits makes the row's
// loss and gradient NaN, and it does not count as correct. A label out of range is never used as an index:
// the row's loss is NaN, its gradient 0, and it is counted in loss_stats->bad_labels. Determinism: rows are added
// in a fixed tree that depends on rows and classes alone. Aliasing: nothing else may overlap. Errors:
// bad_argument for negative sizes, classes == 0 with rows, a stride below classes, shapes that differ, null
// or misaligned pointers, an overlap, a workspace too small. rows == 0 does nothing. Traffic: logits read
// once from memory (again from the cache), gradient written once.
[[nodiscard]] Status softmax_cross_entropy(MatrixView<float> gradient, LossStats* loss_stats,
                                           MatrixView<const float> logits, VectorView<const int32_t> labels,
                                           float scale, Workspace workspace, cudaStream_t stream);

}  // namespace rondo
