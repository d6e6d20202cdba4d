// Marks a gradient where the loss is not finite, so that the check of the gradients sees both.
#pragma once

#include <rondo/kernels/loss/cross_entropy.h>

namespace rondo {

// *gradient = NaN if loss_stats->loss is NaN or infinite; otherwise *gradient is not changed.
//
// A loss can be infinite where all gradients are finite: the softmax of two logits 3e38 apart is 1 and 0. An
// all-reduce of the gradients carries the mark to every replica, and first_nonfinite() finds it there.
// gradient: one float in device memory, aligned to 4. loss_stats: device memory, aligned to 8. No overlap.
// Errors: bad_argument for a null or misaligned pointer, an overlap.
[[nodiscard]] Status mark_nonfinite_loss(float* gradient, const LossStats* loss_stats, cudaStream_t stream);

}  // namespace rondo
