// Multiplies two matrices of float16 by tensor cores: c[i][j] = sum over l of a[i][l] b[l][j].
// matmul_tensor_cores.md has the problem.
//   rondo judge check matmul_tensor_cores.cu
//   rondo cuda matmul_tensor_cores.cu            runs main() below

#include <cuda_fp16.h>
#include <mma.h>

__global__ void matmul_kernel(const half* a, const half* b, float* c, int m, int n, int k) {
  // Each warp computes 16 x 16 elements of c, or several such tiles.
}

// a: m x k halves, b: k x n halves, c: m x n floats, all row after row in the memory of the current device;
// m, n and k are multiples of 16, at least 16.
void matmul_tensor_cores(const half* a, const half* b, float* c, int m, int n, int k) {
  matmul_kernel<<<1, 32>>>(a, b, c, m, n, k);
}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int m = 16, n = 32, k = 48;
  half *a, *b;
  float* c;
  cudaMallocManaged(&a, m * k * sizeof(half));
  cudaMallocManaged(&b, k * n * sizeof(half));
  cudaMallocManaged(&c, m * n * sizeof(float));
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l) a[i * k + l] = __float2half(i + 1);
  for (int l = 0; l < k; ++l)
    for (int j = 0; j < n; ++j) b[l * n + j] = __float2half(l + j);
  matmul_tensor_cores(a, b, c, m, n, k);
  cudaDeviceSynchronize();
  printf("%g is 1128, %g is 41856\n", c[0], c[m * n - 1]);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
}
#endif
