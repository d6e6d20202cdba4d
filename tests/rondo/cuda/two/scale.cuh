#pragma once

#ifndef FACTOR
#define FACTOR 2
#endif
constexpr int kCount = 8;

template <int Factor>
__device__ __host__ inline float scaled(float value) {
  return value * Factor;
}
inline __global__ void fill(float* values) { values[threadIdx.x] = 1 + static_cast<float>(threadIdx.x); }
void scale_on_device(float* values);
