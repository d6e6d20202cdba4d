// wrong: the rows are taken to be `columns` apart.
__global__ void add(const float* a, const float* b, float* sum, int rows, int columns) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < rows && j < columns) sum[i * columns + j] = a[i * columns + j] + b[i * columns + j];
}

void matrix_add(const float* a, const float* b, float* sum, int rows, int columns, int stride) {
  const dim3 block(32, 8), grid((columns + 31) / 32, (rows + 7) / 8);
  add<<<grid, block>>>(a, b, sum, rows, columns);
}
