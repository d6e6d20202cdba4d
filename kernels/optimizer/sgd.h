// Stochastic gradient descent on a flat arena of parameters: plain, with momentum or Nesterov momentum, and
// with weight decay.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

struct SgdOptions {
  float scale = 1;  // converts a sum of gradients to a mean: 1 / (size of the batch)
  float momentum = 0;
  float weight_decay = 0;
  bool nesterov = false;
  // The result of first_nonfinite() (kernels/reduce/first_nonfinite.h), one value in device memory: the index
  // of a NaN or an infinity in the gradients, or kAllFinite. With an index the step changes nothing.
  // Null: the gradients are not checked.
  const unsigned long long* first_nonfinite = nullptr;
};

// With g = scale * gradient[i] + weight_decay * parameters[i]:
//   velocity[i] = momentum * velocity[i] + g
//   parameters[i] -= learning_rate * (nesterov ? g + momentum * velocity[i] : velocity[i])
//
// Equivalent to PyTorch's torch.optim.SGD with dampening 0 (Sutskever et al., "On the importance of
// initialization and momentum in deep learning", 2013, in the form with the learning rate outside the
// velocity). `velocity` begins as zeros. With momentum 0 it may be omitted (an empty view); the result has
// the same bits. `learning_rate` is one float in device memory, as for every optimizer, so a captured step
// can follow a schedule. float32, 4-byte alignment (first_nonfinite: 8). No operands may overlap. The
// fused multiply-adds are explicit, so replicas stay bitwise equal on any device.
// Errors: bad_argument for different or negative sizes, null or misaligned pointers, an overlap, momentum
// outside [0, 1), weight_decay negative or not finite, a scale that is not finite. Traffic: 20 bytes per
// element, 12 without a velocity.
[[nodiscard]] Status sgd_update(VectorView<float> parameters, VectorView<float> velocity,
                                VectorView<const float> gradient, const float* learning_rate,
                                const SgdOptions& options, cudaStream_t stream);

// The same with a copy of the updated parameters in `rounded`, rounded to nearest even, for the products of
// the next step, and with the gradient in float32 or in the type of the copy. An empty view omits the copy.
// The parameters (the float32 master parameters of a 16-bit model), the velocity and the arithmetic stay
// float32, so that a small step is not lost. A step that first_nonfinite skips leaves the copy as it is.
// 16-bit operands: 2-byte alignment. Traffic: 2 bytes more per element with a copy, 2 less with a 16-bit
// gradient.
template <NarrowType T, GradientOf<T> Gradient>
[[nodiscard]] Status sgd_update(VectorView<float> parameters, VectorView<T> rounded,
                                VectorView<float> velocity, VectorView<Gradient> gradient,
                                const float* learning_rate, const SgdOptions& options, cudaStream_t stream);

}  // namespace rondo
