// Reads global memory for every product.
__global__ void matmul_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
  c[i * n + j] = sum;
}

void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  const dim3 block(32, 8), grid((n + 31) / 32, (m + 7) / 8);
  matmul_kernel<<<grid, block>>>(a, b, c, m, n, k);
}
