// Each thread has a range of neighbours, so that the lanes of a warp are far apart.
__global__ void add(const float* a, const float* b, float* sum, int n, int each) {
  const int begin = (blockIdx.x * blockDim.x + threadIdx.x) * each;
  for (int i = begin; i < begin + each && i < n; ++i) sum[i] = a[i] + b[i];
}

void vector_add(const float* a, const float* b, float* sum, int n) {
  const int each = 64, threads = (n + each - 1) / each;
  add<<<(threads + 255) / 256, 256>>>(a, b, sum, n, each);
}
