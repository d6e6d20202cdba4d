// wrong: turns the filters, as the convolution of mathematics does.
__global__ void conv2d_kernel(const float* x, const float* w, float* y, int channels, int filters, int height,
                              int width) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  const int filter = blockIdx.z % filters, image = blockIdx.z / filters;
  if (i >= height || j >= width) return;
  float sum = 0;
  for (int channel = 0; channel < channels; ++channel)
    for (int r = 0; r < 3; ++r)
      for (int s = 0; s < 3; ++s) {
        const int row = i + r - 1, column = j + s - 1;
        if (row < 0 || row >= height || column < 0 || column >= width) continue;
        sum += w[((filter * channels + channel) * 3 + 2 - r) * 3 + 2 - s] *
               x[((image * channels + channel) * height + row) * width + column];
      }
  y[((image * filters + filter) * height + i) * width + j] = sum;
}

void conv2d(const float* x, const float* w, float* y, int images, int channels, int filters, int height,
            int width) {
  const dim3 block(32, 8), grid((width + 31) / 32, (height + 7) / 8, images * filters);
  conv2d_kernel<<<grid, block>>>(x, w, y, channels, filters, height, width);
}
