// deadlock: threads beyond the end of a row do not reach the barrier that the others wait at.
constexpr int kTile = 32;

__global__ void transpose_kernel(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];
  const int column = blockIdx.x * kTile, row = blockIdx.y * kTile;
  if (row + threadIdx.y < rows && column + threadIdx.x < columns) {
    tile[threadIdx.y][threadIdx.x] = in[(row + threadIdx.y) * columns + column + threadIdx.x];
    __syncthreads();
  } else {
    __syncwarp();
    __syncthreads();
    __syncthreads();
  }
  if (column + threadIdx.y < columns && row + threadIdx.x < rows)
    out[(column + threadIdx.y) * rows + row + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

void transpose(const float* in, float* out, int rows, int columns) {
  const dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  transpose_kernel<<<grid, dim3(kTile, kTile)>>>(in, out, rows, columns);
}
