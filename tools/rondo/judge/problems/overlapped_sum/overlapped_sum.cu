// Adds two vectors in the memory of the host on the device: sum[i] = a[i] + b[i]. overlapped_sum.md has the
// problem.
//   rondo judge check overlapped_sum.cu
//   rondo cuda overlapped_sum.cu           runs main() below

__global__ void add(const float* a, const float* b, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

// a, b and sum: n floats in pinned memory of the host; n >= 1.
void overlapped_sum(const float* a, const float* b, float* sum, int n) {
  // Copies pieces of a and b to the device, adds them there, and copies the sums back, in several streams.
}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int n = 100000;
  float *a, *b, *sum;
  cudaMallocHost(&a, n * sizeof(float));
  cudaMallocHost(&b, n * sizeof(float));
  cudaMallocHost(&sum, n * sizeof(float));
  for (int i = 0; i < n; ++i) a[i] = i, b[i] = 2 * i, sum[i] = 0;
  overlapped_sum(a, b, sum, n);
  cudaDeviceSynchronize();
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += sum[i] != 3 * i;
  printf("%d of %d sums are wrong\n", wrong, n);
  cudaFreeHost(a);
  cudaFreeHost(b);
  cudaFreeHost(sum);
}
#endif
