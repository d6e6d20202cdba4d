// race: no barrier between the products of a tile and the loads of the next one.
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int kTile = 64, kSteps = 32, kWarps = 4, kPad = 8;  // the padding puts rows into different banks

// Copies a tile of rows x columns halves with 8 halves for each thread; zeros beyond the matrix.
template <int rows, int columns>
__device__ void load_tile(half (&tile)[rows][columns + kPad], const half* from, int row, int column,
                          int all_rows, int all_columns) {
  for (int e = threadIdx.x; e < rows * columns / 8; e += kWarps * 32) {
    const int i = e / (columns / 8), j = e % (columns / 8) * 8;
    const bool inside = row + i < all_rows && column + j < all_columns;
    *reinterpret_cast<float4*>(&tile[i][j]) =
        inside ? *reinterpret_cast<const float4*>(from + (row + i) * all_columns + column + j) : float4();
  }
}

__global__ void matmul_kernel(const half* a, const half* b, float* c, int m, int n, int k) {
  __shared__ alignas(32) half as[kTile][kSteps + kPad], bs[kSteps][kTile + kPad];
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile, warp = threadIdx.x / 32;
  const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;  // a warp computes 32 x 32 elements
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
  for (auto& two : sums)
    for (auto& sum : two) wmma::fill_fragment(sum, 0.0f);
  for (int begin = 0; begin < k; begin += kSteps) {
    load_tile<kTile, kSteps>(as, a, row, begin, m, k);
    load_tile<kSteps, kTile>(bs, b, begin, column, k, n);
    __syncthreads();
    for (int l = 0; l < kSteps; l += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> of_a[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> of_b[2];
      for (int i = 0; i < 2; ++i) {
        wmma::load_matrix_sync(of_a[i], &as[warp_row + i * 16][l], kSteps + kPad);
        wmma::load_matrix_sync(of_b[i], &bs[l][warp_column + i * 16], kTile + kPad);
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) wmma::mma_sync(sums[i][j], of_a[i], of_b[j], sums[i][j]);
    }
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      const int to_row = row + warp_row + i * 16, to_column = column + warp_column + j * 16;
      if (to_row < m && to_column < n)
        wmma::store_matrix_sync(c + to_row * n + to_column, sums[i][j], n, wmma::mem_row_major);
    }
}

void matmul_tensor_cores(const half* a, const half* b, float* c, int m, int n, int k) {
  const dim3 grid((n + kTile - 1) / kTile, (m + kTile - 1) / kTile);
  matmul_kernel<<<grid, kWarps * 32>>>(a, b, c, m, n, k);
}
