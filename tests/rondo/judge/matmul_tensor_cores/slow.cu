// Tiles of 32 x 32 in shared memory, without tensor cores.
#include <cuda_fp16.h>

constexpr int kTile = 32;

__global__ void matmul_kernel(const half* a, const half* b, float* c, int m, int n, int k) {
  __shared__ half as[kTile][kTile], bs[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int i = blockIdx.y * kTile + y, j = blockIdx.x * kTile + x;
  float sum = 0;
  for (int begin = 0; begin < k; begin += kTile) {
    as[y][x] = i < m && begin + x < k ? a[i * k + begin + x] : half(0.0f);
    bs[y][x] = begin + y < k && j < n ? b[(begin + y) * n + j] : half(0.0f);
    __syncthreads();
    for (int l = 0; l < kTile; ++l) sum += __half2float(as[y][l]) * __half2float(bs[l][x]);
    __syncthreads();
  }
  if (i < m && j < n) c[i * n + j] = sum;
}

void matmul_tensor_cores(const half* a, const half* b, float* c, int m, int n, int k) {
  const dim3 block(kTile, kTile), grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  matmul_kernel<<<grid, block>>>(a, b, c, m, n, k);
}
