// Multiplies two matrices: c[i][j] = sum over l of a[i][l] b[l][j].
// matmul_register_tiles.md has the problem.
//   rondo judge check matmul_register_tiles.cu
//   rondo cuda matmul_register_tiles.cu            runs main() below

__global__ void matmul_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  // Each thread computes several elements of c, and keeps their sums in registers.
}

// a: m x k floats, b: k x n floats, c: m x n floats, all row after row in the memory of the current device;
// m, n and k are at least 1.
void matmul_register_tiles(const float* a, const float* b, float* c, int m, int n, int k) {
  matmul_kernel<<<1, 1>>>(a, b, c, m, n, k);
}

#ifndef RONDO_JUDGE
#include <cstdio>

int main() {
  const int m = 3, n = 68, k = 40;
  float* memory;
  cudaMallocManaged(&memory, (m * k + k * n + m * n) * sizeof(float));
  float *a = memory, *b = a + m * k, *c = b + k * n;
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l) a[i * k + l] = i + 1;
  for (int l = 0; l < k; ++l)
    for (int j = 0; j < n; ++j) b[l * n + j] = l + j;
  for (int i = 0; i < m * n; ++i) c[i] = -1;
  matmul_register_tiles(a, b, c, m, n, k);
  cudaDeviceSynchronize();
  printf("%g is 780, %g is 10380\n", c[0], c[m * n - 1]);
  cudaFree(memory);
}
#endif
