// Multiplies two matrices: c[i][j] = sum over l of a[i][l] b[l][j]. matmul.md has the problem.
//   rondo judge check matmul.cu
//   rondo cuda matmul.cu            runs main() below

__global__ void matmul_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  // Each thread computes one element of c.
}

// a: m x k floats, b: k x n floats, c: m x n floats, all row after row in the memory of the current device;
// m, n and k are at least 1.
void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  matmul_kernel<<<1, 1>>>(a, b, c, m, n, k);
}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int m = 2, n = 3, k = 2;
  float* memory;
  cudaMallocManaged(&memory, (m * k + k * n + m * n) * sizeof(float));
  float *a = memory, *b = a + m * k, *c = b + k * n;
  for (int i = 0; i < m * k; ++i) a[i] = i + 1;  // 1 2, 3 4
  for (int i = 0; i < k * n; ++i) b[i] = i;      // 0 1 2, 3 4 5
  for (int i = 0; i < m * n; ++i) c[i] = -1;
  matmul(a, b, c, m, n, k);
  cudaDeviceSynchronize();
  for (int i = 0; i < m; ++i) printf("%g %g %g\n", c[i * n], c[i * n + 1], c[i * n + 2]);  // 6 9 12, 12 19 26
  cudaFree(memory);
}
#endif
