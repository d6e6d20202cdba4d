// The sum of a vector, on the second device.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

__global__ void sum(int n, const float* values, float* result) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  float value = i < n ? values[i] : 0;
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(~0u, value, distance);
  if (threadIdx.x % 32 == 0) atomicAdd(result, value);
}

int main() {
  const int n = 1000;
  const std::vector<float> values(n, 0.5f);
  float *device_values = nullptr, *device_result = nullptr, result = 0;
  cudaSetDevice(1);
  cudaMalloc(&device_values, n * sizeof(float));
  cudaMalloc(&device_result, sizeof(float));
  cudaMemcpy(device_values, values.data(), n * sizeof(float), cudaMemcpyDefault);
  cudaMemset(device_result, 0, sizeof(float));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3((n + 255) / 256);
  config.blockDim = dim3(256);
  cudaLaunchKernelEx(&config, sum, n, device_values, device_result);
  cudaMemcpy(&result, device_result, sizeof(float), cudaMemcpyDefault);
  std::printf("%g, %s\n", result, cudaGetErrorString(cudaGetLastError()));
}
