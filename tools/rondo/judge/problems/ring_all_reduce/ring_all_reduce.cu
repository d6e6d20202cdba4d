// All-reduce: every device gets the sum of the arrays of all devices. ring_all_reduce.md has the problem.
//   rondo judge check ring_all_reduce.cu
//   SIMT_DEVICES=3 rondo cuda ring_all_reduce.cu     runs main() below

__global__ void add(float* to, const float* from, int count) {
  // Each thread adds one element.
}

// data[d]: n floats in the memory of device d, which become the sums over all devices; n and devices are at
// least 1.
void ring_all_reduce(float* const* data, int n, int devices) {}

#ifndef RONDO_JUDGE
#include <cstdio>
#include <vector>

int main() {
  const int n = 5, devices = 3;
  std::vector<float*> data(devices);
  std::vector<float> values(n);
  for (int d = 0; d < devices; ++d) {
    if (cudaSetDevice(d) != cudaSuccess)
      return printf("this needs %d devices: SIMT_DEVICES=%d\n", devices, devices), 1;
    for (int i = 0; i < n; ++i) values[i] = d + i;
    cudaMalloc(&data[d], n * sizeof(float));
    cudaMemcpy(data[d], values.data(), n * sizeof(float), cudaMemcpyDefault);
  }
  ring_all_reduce(data.data(), n, devices);
  for (int d = 0; d < devices; ++d) {  // 3 6 9 12 15, on each device
    cudaSetDevice(d);
    cudaDeviceSynchronize();
    cudaMemcpy(values.data(), data[d], n * sizeof(float), cudaMemcpyDefault);
    for (float value : values) printf("%g ", value);
    printf("\n");
    cudaFree(data[d]);
  }
}
#endif
