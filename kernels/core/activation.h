// The activations that an operator can apply to its results.
#pragma once

#include <rondo/kernels/core/activation_functions.h>

#include <cuda_runtime.h>

namespace rondo {

// relu: max(0, x), NaN stays NaN. The others: activation_functions.h.
enum class Activation { none, relu, gelu, gelu_tanh, sigmoid };

constexpr const char* name_of(Activation activation) {
  constexpr const char* kNames[] = {"none", "relu", "gelu", "gelu_tanh", "sigmoid"};
  return kNames[static_cast<int>(activation)];
}

// Whether an activation is neither none nor relu.
__host__ __device__ constexpr bool is_smooth(Activation activation) { return activation > Activation::relu; }

// A smooth activation at x, with the bits of gelu_of(), gelu_tanh_of() and sigmoid_of(). The last two share
// their code, because every row of an epilogue contains it.
__host__ __device__ inline float smooth_activation(Activation activation, float x) {
  if (activation == Activation::gelu) return gelu_of(x);
  const bool is_gelu = activation == Activation::gelu_tanh;
  const float s = sigmoid_of(is_gelu ? gelu_tanh_argument(x) : x);
  if (!is_gelu) return s;
  return x < -15.0f ? -0.0f : x * s;
}

}  // namespace rondo
