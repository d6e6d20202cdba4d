// wrong: only the first warp adds its sum.
__global__ void add(const float* in, float* result, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 1024) sum += in[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x == 0) *result = sum;
}

void reduce(const float* in, float* result, int n) { add<<<1, 1024>>>(in, result, n); }
