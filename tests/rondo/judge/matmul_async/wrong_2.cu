// race: each thread waits for its own copies, and no barrier says that those of the others are complete.
#include <cuda_pipeline.h>

constexpr int kTile = 64, kSteps = 16, kEach = 4, kThreads = kTile / kEach;
constexpr int kLength = kSteps + 4;  // of a row of a tile of a: columns lie in different banks

// A thread copies 4 floats of each tile, or zeros beyond the matrices.
__device__ void start_copies(float (&as)[kTile][kLength], float (&bs)[kSteps][kTile], const float* a,
                             const float* b, int m, int n, int k, int row, int column, int begin) {
  const int thread = threadIdx.y * kThreads + threadIdx.x;
  const int i = thread / (kSteps / 4), l = thread % (kSteps / 4) * 4;
  const bool in_a = row + i < m && begin + l < k;
  __pipeline_memcpy_async(&as[i][l], in_a ? a + (row + i) * k + begin + l : a, 16, in_a ? 0 : 16);
  const int s = thread / (kTile / 4), j = thread % (kTile / 4) * 4;
  const bool in_b = begin + s < k && column + j < n;
  __pipeline_memcpy_async(&bs[s][j], in_b ? b + (begin + s) * n + column + j : b, 16, in_b ? 0 : 16);
  __pipeline_commit();
}

__global__ void matmul_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ alignas(16) float as[2][kTile][kLength], bs[2][kSteps][kTile];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  float sums[kEach][kEach] = {};
  start_copies(as[0], bs[0], a, b, m, n, k, row, column, 0);
  for (int begin = 0, now = 0; begin < k; begin += kSteps, now ^= 1) {
    __syncthreads();
    if (begin + kSteps < k)
      start_copies(as[now ^ 1], bs[now ^ 1], a, b, m, n, k, row, column, begin + kSteps);
    else
      __pipeline_commit();
    __pipeline_wait_prior(1);
    for (int l = 0; l < kSteps; l += 4) {
      float of_a[kEach][4];
      for (int i = 0; i < kEach; ++i)
        *reinterpret_cast<float4*>(of_a[i]) = *reinterpret_cast<const float4*>(&as[now][y * kEach + i][l]);
      for (int s = 0; s < 4; ++s) {
        const float4 four = *reinterpret_cast<const float4*>(&bs[now][l + s][x * kEach]);
        const float of_b[] = {four.x, four.y, four.z, four.w};
        for (int i = 0; i < kEach; ++i)
          for (int j = 0; j < kEach; ++j) sums[i][j] += of_a[i][s] * of_b[j];
      }
    }
  }
  for (int i = 0; i < kEach; ++i) {
    const int to_row = row + y * kEach + i, to_column = column + x * kEach;
    if (to_row < m && to_column < n)
      *reinterpret_cast<float4*>(c + to_row * n + to_column) =
          make_float4(sums[i][0], sums[i][1], sums[i][2], sums[i][3]);
  }
}

void matmul_async(const float* a, const float* b, float* c, int m, int n, int k) {
  const dim3 block(kThreads, kThreads), grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  matmul_kernel<<<grid, block>>>(a, b, c, m, n, k);
}
