// Tiles of 32 x 32 in shared memory, with rows of 33 floats; each thread moves 4 elements.
constexpr int kTile = 32, kRows = 8;

__global__ void transpose_kernel(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];
  const int column = blockIdx.x * kTile, row = blockIdx.y * kTile;
  for (int y = threadIdx.y; y < kTile; y += kRows)
    if (row + y < rows && column + threadIdx.x < columns)
      tile[y][threadIdx.x] = in[(row + y) * columns + column + threadIdx.x];
  __syncthreads();
  for (int y = threadIdx.y; y < kTile; y += kRows)
    if (column + y < columns && row + threadIdx.x < rows)
      out[(column + y) * rows + row + threadIdx.x] = tile[threadIdx.x][y];
}

void transpose(const float* in, float* out, int rows, int columns) {
  const dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  transpose_kernel<<<grid, dim3(kTile, kRows)>>>(in, out, rows, columns);
}
