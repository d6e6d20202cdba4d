// Adds the elements of a vector: result[0] = in[0] + ... + in[n - 1]. reduce.md has the problem.
//   rondo judge check reduce.cu
//   rondo cuda reduce.cu               runs main() below

__global__ void reduce_kernel(const float* in, float* result, int n) {
  // Each block adds a part of the elements.
}

// in: n floats, result: 1 float, which has no value yet, both in the memory of the current device; n >= 1.
void reduce(const float* in, float* result, int n) { reduce_kernel<<<1, 1>>>(in, result, n); }

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int n = 1000;
  float *in, *result;
  cudaMallocManaged(&in, n * sizeof(float));
  cudaMallocManaged(&result, sizeof(float));
  for (int i = 0; i < n; ++i) in[i] = i;
  *result = -1;
  reduce(in, result, n);
  cudaDeviceSynchronize();
  printf("0 + 1 + ... + 999 = %g\n", *result);  // 499500
  cudaFree(in);
  cudaFree(result);
}
#endif
