// race: no barrier between the products of a channel and the loads of the next one.
constexpr int kWidth = 32, kThreadRows = 8, kEach = 4, kHeight = kThreadRows * kEach, kFilters = 4;

__global__ void conv2d_kernel(const float* x, const float* w, float* y, int channels, int filters, int height,
                              int width) {
  __shared__ float tile[kHeight + 2][kWidth + 2];
  __shared__ float4 weights[9];  // of the 4 filters, for each of the 9 places
  const int tiles = (width + kWidth - 1) / kWidth;
  const int row = blockIdx.x / tiles * kHeight, column = blockIdx.x % tiles * kWidth;
  const int first = blockIdx.y * kFilters, image = blockIdx.z;
  const int thread = threadIdx.y * kWidth + threadIdx.x;
  float sums[kFilters][kEach] = {};
  for (int channel = 0; channel < channels; ++channel) {
    const float* const plane = x + static_cast<long long>(image * channels + channel) * height * width;
    for (int i = threadIdx.y; i < kHeight + 2; i += kThreadRows)
      for (int j = threadIdx.x; j < kWidth + 2; j += kWidth) {
        const int from_row = row + i - 1, from_column = column + j - 1;
        const bool inside = from_row >= 0 && from_row < height && from_column >= 0 && from_column < width;
        tile[i][j] = inside ? plane[from_row * width + from_column] : 0;
      }
    if (thread < 9 * kFilters) {
      const int place = thread / kFilters, filter = thread % kFilters;
      reinterpret_cast<float*>(&weights[place])[filter] =
          first + filter < filters ? w[((first + filter) * channels + channel) * 9 + place] : 0;
    }
    __syncthreads();
    float values[kEach + 2][3];  // a thread computes 4 elements of a column
    for (int i = 0; i < kEach + 2; ++i)
      for (int j = 0; j < 3; ++j) values[i][j] = tile[threadIdx.y * kEach + i][threadIdx.x + j];
    for (int place = 0; place < 9; ++place) {
      const float4 weight = weights[place];
      for (int i = 0; i < kEach; ++i) {
        const float value = values[i + place / 3][place % 3];
        sums[0][i] += weight.x * value;
        sums[1][i] += weight.y * value;
        sums[2][i] += weight.z * value;
        sums[3][i] += weight.w * value;
      }
    }
  }
  for (int filter = 0; filter < kFilters; ++filter)
    for (int i = 0; i < kEach; ++i) {
      const int to_row = row + threadIdx.y * kEach + i, to_column = column + threadIdx.x;
      if (first + filter < filters && to_row < height && to_column < width)
        y[(static_cast<long long>(image * filters + first + filter) * height + to_row) * width + to_column] =
            sums[filter][i];
    }
}

void conv2d(const float* x, const float* w, float* y, int images, int channels, int filters, int height,
            int width) {
  const int tiles = (height + kHeight - 1) / kHeight * ((width + kWidth - 1) / kWidth);
  const dim3 grid(tiles, (filters + kFilters - 1) / kFilters, images);
  conv2d_kernel<<<grid, dim3(kWidth, kThreadRows)>>>(x, w, y, channels, filters, height, width);
}
