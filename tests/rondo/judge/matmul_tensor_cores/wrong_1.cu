// wrong: reads the tiles of b as if they were stored column after column.
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void matmul_kernel(const half* a, const half* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * 16, column = blockIdx.x * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int l = 0; l < k; l += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> of_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> of_b;
    wmma::load_matrix_sync(of_a, a + row * k + l, k);
    wmma::load_matrix_sync(of_b, b + l * n + column, n);
    wmma::mma_sync(sum, of_a, of_b, sum);
  }
  wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

void matmul_tensor_cores(const half* a, const half* b, float* c, int m, int n, int k) {
  matmul_kernel<<<dim3(n / 16, m / 16), 32>>>(a, b, c, m, n, k);
}
