// race: a thread for each product; all k threads of an element add to it without an atomic.
__global__ void clear(float* c, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) c[i] = 0;
}

__global__ void add_products(const float* a, const float* b, float* c, int m, int n, int k) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, l = blockIdx.y, i = blockIdx.z;
  if (j < n) c[i * n + j] += a[i * k + l] * b[l * n + j];
}

void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  clear<<<(m * n + 255) / 256, 256>>>(c, m * n);
  add_products<<<dim3((n + 31) / 32, k, m), 32>>>(a, b, c, m, n, k);
}
