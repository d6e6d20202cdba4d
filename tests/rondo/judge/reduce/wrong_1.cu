// race: no barrier between the steps of the tree.
__global__ void clear(float* result) { *result = 0; }

__global__ void add(const float* in, float* result, int n) {
  __shared__ float sums[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  sums[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2)
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  if (threadIdx.x == 0) atomicAdd(result, sums[0]);
}

void reduce(const float* in, float* result, int n) {
  clear<<<1, 1>>>(result);
  add<<<(n + 255) / 256, 256>>>(in, result, n);
}
