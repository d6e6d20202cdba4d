// wrong: stores columns x, x + 16, x + 32, x + 48, but computed the four from column 4 x.
constexpr int kTile = 64, kSteps = 16, kEach = 4, kThreads = kTile / kEach;

__global__ void matmul_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float4 as[kSteps][kTile / kEach + 1], bs[kSteps][kTile / kEach];  // as is transposed
  const int x = threadIdx.x, y = threadIdx.y, thread = y * kThreads + x;
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  float sums[kEach][kEach] = {};
  for (int begin = 0; begin < k; begin += kSteps) {
    for (int e = thread; e < kTile * kSteps; e += kThreads * kThreads) {
      const int i = e / kSteps, l = e % kSteps;
      reinterpret_cast<float*>(as[l])[i] = row + i < m && begin + l < k ? a[(row + i) * k + begin + l] : 0;
    }
    for (int e = thread; e < kSteps * kTile; e += kThreads * kThreads) {
      const int l = e / kTile, j = e % kTile;
      reinterpret_cast<float*>(bs[l])[j] =
          begin + l < k && column + j < n ? b[(begin + l) * n + column + j] : 0;
    }
    __syncthreads();
    for (int l = 0; l < kSteps; ++l) {
      const float4 left = as[l][y], right = bs[l][x];
      const float of_a[] = {left.x, left.y, left.z, left.w}, of_b[] = {right.x, right.y, right.z, right.w};
      for (int i = 0; i < kEach; ++i)
        for (int j = 0; j < kEach; ++j) sums[i][j] += of_a[i] * of_b[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < kEach; ++i)
    for (int j = 0; j < kEach; ++j) {
      const int to_row = row + y * kEach + i, to_column = column + j * kThreads + x;
      if (to_row < m && to_column < n) c[to_row * n + to_column] = sums[i][j];
    }
}

void matmul_register_tiles(const float* a, const float* b, float* c, int m, int n, int k) {
  const dim3 block(kThreads, kThreads), grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  matmul_kernel<<<grid, block>>>(a, b, c, m, n, k);
}
