// Sigmoid, tanh, the normal distribution and GELU, with their slopes, and the same bits on a GPU and on a CPU
// (elementary.h says how). NaN gives NaN. tests/kernels/core/activation_functions_test.cpp has the errors.
#pragma once

#include <rondo/kernels/core/elementary.h>

namespace rondo {

// 1 / (1 + exp(-x)). The relative error is below 2^-21.
__host__ __device__ inline float sigmoid_of(float x) {
  const float e = exp_of_negative(-fabsf(x));
  return (x > 0 ? 1.0f : e) / (1.0f + e);
}

// tanh(x). The relative error is below 2^-21.
__host__ __device__ inline float tanh_of(float x) {
  const float size = fabsf(x);
  const float e = exp_of_negative(-2.0f * size);
  const float large = (1.0f - e) / (1.0f + e);
  // Near 0, where 1 - e has lost digits: x + x^3 p(x^2), interpolated at Chebyshev nodes.
  const float t = x * x;
  float p = 0.00237076567f;
  p = fmaf(p, t, -0.00841007102f);
  p = fmaf(p, t, 0.0217883214f);
  p = fmaf(p, t, -0.0539615527f);
  p = fmaf(p, t, 0.133333132f);
  p = fmaf(p, t, -0.333333343f);
  const float small = size < 0x1p-12f ? x : fmaf(x * t, p, x);  // also -0
  return size < 0.6f ? small : x > 0 ? large : -large;
}

// x, or `most` with its sign if that is smaller. NaN stays NaN.
__host__ __device__ inline float at_most(float most, float x) {
  const float size = fabsf(x);
  return copysignf(size > most ? most : size, x);
}

// The standard normal distribution at x: the probability of a value below x, and exp(-x^2 / 2), the density
// times sqrt(2 pi). The relative errors of both are below 2^-21 while they are normal numbers. `at`: x, or a
// number nearer to 0 for which both are the same.
struct NormalDistribution {
  float at, below, density;
};
__host__ __device__ inline NormalDistribution normal_distribution(float x) {
  // There the density is 0 in float. exp_in_range() takes all squares up to that of this number: a second
  // limit would be a branch, and g++ would make no vectors.
  x = at_most(14.422f, x);
  const float size = fabsf(x);
  // exp(-size^2 / 2), with the part of the square that a float cannot hold.
  const float square = size * size;
  const float rest = fmaf(size, size, -square);
  const float e = exp_in_range(-0.5f * square);
  const float density = fmaf(-0.5f * rest, e, e);
  // The probability of a value above `size`, divided by the density: t p(t) with t = 1 / (1 + 0.27 size). The
  // polynomial p interpolates at Chebyshev nodes.
  const float t = 1.0f / fmaf(0.27f, size, 1.0f);
  float p = 0.029205833f;
  p = fmaf(p, t, -0.12772256f);
  p = fmaf(p, t, 0.17243610f);
  p = fmaf(p, t, -0.072344562f);
  p = fmaf(p, t, 0.11005421f);
  p = fmaf(p, t, 0.071077582f);
  p = fmaf(p, t, 0.10206355f);
  p = fmaf(p, t, 0.10750709f);
  p = fmaf(p, t, 0.107722774f);  // so that the probability at 0 is exactly 1/2
  const float ratio = t * p;
  const float above = fmaf(ratio, density, 0.0f);  // a sum with it is not fused
  return {x, x > 0 ? fmaf(-ratio, density, 1.0f) : above, density};
}

// x times the probability of a value below x (Hendrycks and Gimpel, "Gaussian error linear units", 2016). The
// relative error is below 2^-21 while the result is a normal number.
__host__ __device__ inline float gelu_of(float x) {
  // Minus infinity times 0: the limit is 0.
  return x < -15.0f ? -0.0f : x * normal_distribution(x).below;
}
__host__ __device__ inline float gelu_slope(float x) {
  const NormalDistribution normal = normal_distribution(x);
  return fmaf(normal.at * 0.398942280f, normal.density, normal.below);
}

// The approximation of GELU by tanh (the same paper): x sigmoid(2 u), with
// u = sqrt(2 / pi) (x + 0.044715 x^3).
__host__ __device__ inline float gelu_tanh_argument(float x) {  // 2 u
  return x * fmaf(x * x, 0.0713548163f, 1.59576912f);
}
__host__ __device__ inline float gelu_tanh_of(float x) {
  return x < -15.0f ? -0.0f : x * sigmoid_of(gelu_tanh_argument(x));
}
__host__ __device__ inline float gelu_tanh_slope(float x) {
  x = at_most(10.681f, x);  // where exp(-2 u) is 0 in float
  // With the sigmoid s of 2 u: s + x s (1 - s) (2 u)'.
  const float argument = gelu_tanh_argument(x);
  const float e = exp_in_range(-fabsf(argument));
  const float larger = 1.0f / (1.0f + e), smaller = e * larger;  // s and 1 - s
  const float of_argument = fmaf(x * x, 0.214064449f, 1.59576912f);
  return fmaf(x * of_argument, larger * smaller, argument > 0 ? larger : smaller);
}

}  // namespace rondo
