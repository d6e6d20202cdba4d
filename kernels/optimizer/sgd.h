// Stochastic gradient descent on a flat arena of parameters: plain, with momentum, or with Nesterov's
// momentum, and with weight decay.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

struct SgdOptions {
  float scale = 1;  // turns a sum of gradients into a mean: 1 / (size of the batch)
  float momentum = 0;
  float weight_decay = 0;
  bool nesterov = false;
  // One in device memory; null: none. Where it is not kAllFinite (kernels/reduce/first_nonfinite.h) the step
  // changes nothing: a NaN or infinity among the gradients spoils neither parameters nor velocity.
  const unsigned long long* found_inf = nullptr;
};

// With g = scale * gradient[i] + weight_decay * parameters[i]:
//   velocity[i] = momentum * velocity[i] + g
//   parameters[i] -= learning_rate * (nesterov ? g + momentum * velocity[i] : velocity[i])
//
// PyTorch's torch.optim.SGD with dampening 0 (Sutskever et al., "On the importance of initialization and
// momentum in deep learning", 2013, in the form where the learning rate is outside the velocity). `velocity`
// begins as zeros. With momentum 0 it may be left out (an empty view): the result has the same bits.
// `learning_rate` is one float in device memory, as for every optimizer, so that a recorded step follows a
// schedule. float32, any alignment of 4 bytes (the found_inf: 8). Nothing may overlap. Every
// operation is a named fused multiply-add, so that replicas on any device stay bitwise equal. Errors:
// bad_argument for sizes that differ or are negative, null or misaligned pointers, an overlap, momentum
// outside [0, 1), a negative weight decay, a scale that is not finite. Traffic: 20 bytes an element, 12
// without a velocity.
[[nodiscard]] Status sgd_update(VectorView<float> parameters, VectorView<float> velocity,
                                VectorView<const float> gradient, const float* learning_rate,
                                const SgdOptions& options, cudaStream_t stream);

}  // namespace rondo
