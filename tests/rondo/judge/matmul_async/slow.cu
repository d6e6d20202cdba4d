// Each thread computes one element, and waits for its loads.
constexpr int kTile = 32;

__global__ void matmul_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[kTile][kTile], bs[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int i = blockIdx.y * kTile + y, j = blockIdx.x * kTile + x;
  float sum = 0;
  for (int begin = 0; begin < k; begin += kTile) {
    as[y][x] = i < m && begin + x < k ? a[i * k + begin + x] : 0;
    bs[y][x] = begin + y < k && j < n ? b[(begin + y) * n + j] : 0;
    __syncthreads();
    for (int l = 0; l < kTile; ++l) sum += as[y][l] * bs[l][x];
    __syncthreads();
  }
  if (i < m && j < n) c[i * n + j] = sum;
}

void matmul_async(const float* a, const float* b, float* c, int m, int n, int k) {
  const dim3 block(kTile, kTile), grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  matmul_kernel<<<grid, block>>>(a, b, c, m, n, k);
}
