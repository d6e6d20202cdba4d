// x is the row, so that the lanes of a warp are `stride` floats apart.
__global__ void add(const float* a, const float* b, float* sum, int rows, int columns, int stride) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < rows && j < columns) sum[i * stride + j] = a[i * stride + j] + b[i * stride + j];
}

void matrix_add(const float* a, const float* b, float* sum, int rows, int columns, int stride) {
  const dim3 block(32, 8), grid((rows + 31) / 32, (columns + 7) / 8);
  add<<<grid, block>>>(a, b, sum, rows, columns, stride);
}
