// race: the counts of the block are not added to atomically.
__global__ void count(const unsigned char* in, unsigned* counts, int n) {
  __shared__ unsigned block_counts[256];
  block_counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) block_counts[in[i]]++;
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], block_counts[threadIdx.x]);
}

void histogram(const unsigned char* in, unsigned* counts, int n) {
  cudaMemsetAsync(counts, 0, 256 * sizeof(unsigned));
  count<<<32, 256>>>(in, counts, n);
}
