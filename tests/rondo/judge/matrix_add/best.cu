// One thread for each element; x is the column.
__global__ void add(const float* a, const float* b, float* sum, int rows, int columns, int stride) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < rows && j < columns) sum[i * stride + j] = a[i * stride + j] + b[i * stride + j];
}

void matrix_add(const float* a, const float* b, float* sum, int rows, int columns, int stride) {
  const dim3 block(32, 8), grid((columns + 31) / 32, (rows + 7) / 8);
  add<<<grid, block>>>(a, b, sum, rows, columns, stride);
}
