// Neighbouring threads compute neighbours in a row of y; a load takes two floats if all rows are aligned.
template <bool kPairs>
__global__ void max_pool_kernel(const float* x, float* y, int height, int width) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  const int rows = height / 2, columns = width / 2;
  if (i >= rows || j >= columns) return;
  const float* const top = x + (static_cast<long long>(blockIdx.z) * height + 2 * i) * width + 2 * j;
  const float* const bottom = top + width;
  float2 first, second;
  if (kPairs) {
    first = *reinterpret_cast<const float2*>(top);
    second = *reinterpret_cast<const float2*>(bottom);
  } else {
    first = make_float2(top[0], top[1]);
    second = make_float2(bottom[0], bottom[1]);
  }
  y[(static_cast<long long>(blockIdx.z) * rows + i) * columns + j] =
      fmaxf(fmaxf(first.x, first.y), fmaxf(second.x, second.y));
}

void max_pool(const float* x, float* y, int channels, int height, int width) {
  const dim3 block(32, 8), grid((width / 2 + 31) / 32, (height / 2 + 7) / 8, channels);
  (width % 2 == 0 ? max_pool_kernel<true> : max_pool_kernel<false>)<<<grid, block>>>(x, y, height, width);
}
