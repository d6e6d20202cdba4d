// Stochastic gradient descent on a flat arena of parameters.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// parameters[i] -= learning_rate * scale * gradient[i], in place
//
// `scale` turns a sum of gradients into a mean: 1 / (size of the batch). The factor learning_rate * scale is
// rounded to float once, on the host; then every element is one fused multiply-add, so that replicas on any
// device, GPU or CPU, stay bitwise equal. float32, any alignment of 4 bytes; the two arrays must not overlap
// unless they are the same. Errors: bad_argument for negative or unequal sizes and null pointers with a size
// above zero. Traffic: 12 bytes an element: two reads, one write.
[[nodiscard]] Status sgd_update(VectorView<float> parameters, VectorView<const float> gradient,
                                float learning_rate, float scale, cudaStream_t stream);

}  // namespace rondo
