// One step of a ring: each device sends a chunk to the next device, which adds it. ring_step.md has the
// problem.
//   rondo judge check ring_step.cu
//   SIMT_DEVICES=3 rondo cuda ring_step.cu     runs main() below

__global__ void add(float* to, const float* from, int count) {
  // Each thread adds one element.
}

// data[d]: n floats in the memory of device d; n >= 1, devices >= 2, 0 <= step <= devices - 2.
// In step s, device d adds chunk (d - 1 - s) mod devices of device d - 1 to its own. Chunk c is the elements
// from n c / devices to n (c + 1) / devices, the last one excluded.
void ring_step(float* const* data, int n, int step, int devices) {}

#ifndef RONDO_JUDGE
#include <cstdio>
#include <vector>

int main() {
  const int n = 7, devices = 3;
  std::vector<float*> data(devices);
  std::vector<float> values(n);
  for (int d = 0; d < devices; ++d) {
    if (cudaSetDevice(d) != cudaSuccess)
      return printf("this needs %d devices: SIMT_DEVICES=%d\n", devices, devices), 1;
    for (int i = 0; i < n; ++i) values[i] = 100 * (d + 1) + i;
    cudaMalloc(&data[d], n * sizeof(float));
    cudaMemcpy(data[d], values.data(), n * sizeof(float), cudaMemcpyDefault);
  }
  ring_step(data.data(), n, 0, devices);
  // 100 101 102 103 404 406 408
  // 300 302 202 203 204 205 206
  // 300 301 504 506 304 305 306
  for (int d = 0; d < devices; ++d) {
    cudaSetDevice(d);
    cudaDeviceSynchronize();
    cudaMemcpy(values.data(), data[d], n * sizeof(float), cudaMemcpyDefault);
    for (float value : values) printf("%g ", value);
    printf("\n");
    cudaFree(data[d]);
  }
}
#endif
