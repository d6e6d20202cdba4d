// unwritten read: the result is added to, but it has no value before.
__global__ void add(const float* in, float* result, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(result, sum);
}

void reduce(const float* in, float* result, int n) { add<<<32, 256>>>(in, result, n); }
