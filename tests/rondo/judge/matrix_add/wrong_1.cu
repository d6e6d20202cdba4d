// wrong: the padding is added, too.
__global__ void add(const float* a, const float* b, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

void matrix_add(const float* a, const float* b, float* sum, int rows, int columns, int stride) {
  add<<<(rows * stride + 255) / 256, 256>>>(a, b, sum, rows * stride);
}
