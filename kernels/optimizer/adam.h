// Adam (Kingma and Ba, 2014) and AdamW (Loshchilov and Hutter, 2017) on a flat arena of parameters.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

namespace rondo {

struct AdamOptions {
  float scale = 1;  // converts a sum of gradients to a mean: 1 / (size of the batch)
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-8f;
  float weight_decay = 0;
  bool decoupled = false;  // AdamW: the decay shrinks the parameters and does not enter the moments
  // The result of first_nonfinite() (kernels/reduce/first_nonfinite.h), one value in device memory: the index
  // of a NaN or an infinity in the gradients, or kAllFinite. With an index the step changes nothing and is
  // not counted. Null: the gradients are not checked.
  const unsigned long long* first_nonfinite = nullptr;
};

// The state that all updates of a step share, in device memory. It begins as zeros. The device advances it,
// so each replay of a captured step is the next step.
struct AdamState {
  int64_t steps = 0;
  float correction1 = 0;  // 1 - beta1^steps
  float correction2 = 0;  // 1 - beta2^steps
  float rate = 0;         // the learning rate of this step
};

// Begins the next step: increments state->steps, and computes the bias corrections of the moments. Reads
// *learning_rate, one float in device memory. Must be called once per step, before adam_update() of any
// arena.
[[nodiscard]] Status adam_begin_step(AdamState* state, const float* learning_rate, const AdamOptions& options,
                                     cudaStream_t stream);

// With t = state->steps and g = scale * gradient[i] (+ weight_decay * parameters[i], unless decoupled):
//   first[i]  = beta1 * first[i]  + (1 - beta1) * g
//   second[i] = beta2 * second[i] + (1 - beta2) * g^2
//   parameters[i] -= rate * (first[i] / (1 - beta1^t)) / (sqrt(second[i] / (1 - beta2^t)) + eps)
// and with decoupled, before that: parameters[i] *= 1 - rate * weight_decay
//
// Equivalent to PyTorch's torch.optim.Adam and AdamW. `first` and `second` begin as zeros. float32, 4-byte
// alignment (state and first_nonfinite: 8). No operands may overlap. Uses only operations that IEEE 754
// rounds correctly, in a fixed order, so replicas stay bitwise equal.
// Errors: bad_argument for different or negative sizes, null or misaligned pointers, an overlap, betas
// outside [0, 1), eps or weight_decay negative or not finite, a scale that is not finite. Traffic: 28 bytes
// per element.
[[nodiscard]] Status adam_update(VectorView<float> parameters, VectorView<float> first,
                                 VectorView<float> second, VectorView<const float> gradient,
                                 const AdamState* state, const AdamOptions& options, cudaStream_t stream);

// The same with a copy of the updated parameters in `rounded`, rounded to nearest even, for the products of
// the next step, and with the gradient in float32 or in the type of the copy. An empty view omits the copy.
// The parameters (the float32 master parameters of a 16-bit model), the moments and the arithmetic stay
// float32, so that a small step is not lost. A step that first_nonfinite skips leaves the copy as it is.
// 16-bit operands: 2-byte alignment. Traffic: 2 bytes more per element with a copy, 2 less with a 16-bit
// gradient.
template <NarrowType T, GradientOf<T> Gradient>
[[nodiscard]] Status adam_update(VectorView<float> parameters, VectorView<T> rounded, VectorView<float> first,
                                 VectorView<float> second, VectorView<Gradient> gradient,
                                 const AdamState* state, const AdamOptions& options, cudaStream_t stream);

}  // namespace rondo
