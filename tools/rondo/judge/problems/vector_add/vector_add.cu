// Adds two vectors: sum[i] = a[i] + b[i] for 0 <= i < n. vector_add.md has the problem.
//   rondo judge check vector_add.cu
//   rondo cuda vector_add.cu           runs main() below

__global__ void add(const float* a, const float* b, float* sum, int n) {
  // Each thread computes one element.
}

// a, b and sum: n floats in the memory of the current device; n >= 1.
void vector_add(const float* a, const float* b, float* sum, int n) { add<<<1, 1>>>(a, b, sum, n); }

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int n = 1000;
  float* memory;
  cudaMallocManaged(&memory, 3 * n * sizeof(float));
  float *a = memory, *b = memory + n, *sum = memory + 2 * n;
  for (int i = 0; i < n; ++i) a[i] = i, b[i] = 2 * i, sum[i] = 0;
  vector_add(a, b, sum, n);
  cudaDeviceSynchronize();
  printf("1 + 2 = %g, 999 + 1998 = %g\n", sum[1], sum[n - 1]);
  cudaFree(memory);
}
#endif
