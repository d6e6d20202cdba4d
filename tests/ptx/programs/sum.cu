// The smallest program: a sum on the device.
#include <cstdio>

__global__ void sum(int n, const float* values, float* result) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) atomicAdd(result, values[i]);
}

int main() {
  constexpr int n = 1000;
  float values[n], *device_values, *result, host = -1;
  for (float& value : values) value = 0.5f;
  cudaMalloc(&device_values, sizeof(values));
  cudaMalloc(&result, sizeof(float));
  cudaMemcpy(device_values, values, sizeof(values), cudaMemcpyHostToDevice);
  cudaMemset(result, 0, sizeof(float));
  sum<<<1, 1024>>>(n, device_values, result);
  const cudaError_t error = cudaGetLastError();
  cudaMemcpy(&host, result, sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g, %s\n", host, cudaGetErrorString(error));
  return 0;
}
