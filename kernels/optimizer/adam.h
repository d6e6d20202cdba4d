// Adam (Kingma and Ba, 2014) and AdamW (Loshchilov and Hutter, 2017) on a flat arena of parameters.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

namespace rondo {

struct AdamOptions {
  float scale = 1;  // turns a sum of gradients into a mean: 1 / (size of the batch)
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-8f;
  float weight_decay = 0;
  bool decoupled = false;  // AdamW: the decay shrinks the parameters and does not enter the moments
  // One in device memory; null: none. Where it is not kAllFinite (kernels/reduce/first_nonfinite.h) the step changes nothing, and
  // is not counted: a NaN or infinity among the gradients spoils neither parameters nor moments.
  const unsigned long long* found_inf = nullptr;
};

// What the steps share, in device memory: begins as zeros and is advanced by the device itself, so that a recorded step,
// replayed, is the next one.
struct AdamState {
  int64_t steps = 0;
  float correction1 = 0;  // 1 - beta1^steps
  float correction2 = 0;  // 1 - beta2^steps
  float rate = 0;         // the learning rate of this step
};

// Begins the next step: state->steps += 1, with the corrections of the moments' bias and *learning_rate, one float in
// device memory. To be called once before adam_update() of each arena.
[[nodiscard]] Status adam_begin_step(AdamState* state, const float* learning_rate, const AdamOptions& options,
                                     cudaStream_t stream);

// With t = state->steps and g = scale * gradient[i] (+ weight_decay * parameters[i], unless decoupled):
//   first[i]  = beta1 * first[i]  + (1 - beta1) * g
//   second[i] = beta2 * second[i] + (1 - beta2) * g^2
//   parameters[i] -= rate * (first[i] / (1 - beta1^t)) / (sqrt(second[i] / (1 - beta2^t)) + eps)
// and before that, decoupled: parameters[i] *= 1 - rate * weight_decay
//
// PyTorch's torch.optim.Adam and AdamW. `first` and `second` begin as zeros. float32, any alignment of 4
// bytes (the state and the found_inf: 8); nothing may overlap. Only operations that IEEE 754 rounds correctly, in
// a fixed order: replicas stay bitwise equal.
// Errors: bad_argument for sizes that differ or are negative, null or misaligned pointers, an overlap, betas
// outside [0, 1), eps or weight decay negative or not finite. Traffic: 28 bytes an element.
[[nodiscard]] Status adam_update(VectorView<float> parameters, VectorView<float> first,
                                 VectorView<float> second, VectorView<const float> gradient,
                                 const AdamState* state, const AdamOptions& options, cudaStream_t stream);

}  // namespace rondo
