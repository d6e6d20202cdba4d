// Neighbouring threads compute neighbouring elements of a column.
__global__ void max_pool_kernel(const float* x, float* y, int height, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  const int rows = height / 2, columns = width / 2;
  if (i >= rows || j >= columns) return;
  float largest = -INFINITY;
  for (int r = 0; r < 2; ++r)
    for (int s = 0; s < 2; ++s)
      largest = fmaxf(largest, x[(blockIdx.z * height + 2 * i + r) * width + 2 * j + s]);
  y[(blockIdx.z * rows + i) * columns + j] = largest;
}

void max_pool(const float* x, float* y, int channels, int height, int width) {
  const dim3 block(32, 8), grid((height / 2 + 31) / 32, (width / 2 + 7) / 8, channels);
  max_pool_kernel<<<grid, block>>>(x, y, height, width);
}
