// A sum by shuffles and one atomic per warp, on the last device.
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
  const std::vector<float> host(n, 0.5f);
  float *values = nullptr, *result = nullptr, total = 0;
  int devices = 0;
  cudaGetDeviceCount(&devices);
  cudaSetDevice(devices - 1);
  cudaMalloc(&values, n * sizeof(float));
  cudaMalloc(&result, sizeof(float));
  cudaMemcpy(values, host.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemset(result, 0, sizeof(float));
  sum<<<(n + 255) / 256, 256>>>(n, values, result);
  cudaMemcpy(&total, result, sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g, %s\n", total, cudaGetErrorString(cudaGetLastError()));
}
