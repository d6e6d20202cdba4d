// wrong: the bytes after the last whole word are not counted.
__global__ void count(const unsigned* in, unsigned* counts, int words) {
  __shared__ unsigned block_counts[256];
  block_counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < words; i += gridDim.x * 256)
    for (int k = 0; k < 4; ++k) atomicAdd(&block_counts[in[i] >> 8 * k & 255], 1);
  __syncthreads();
  atomicAdd(&counts[threadIdx.x], block_counts[threadIdx.x]);
}

void histogram(const unsigned char* in, unsigned* counts, int n) {
  cudaMemsetAsync(counts, 0, 256 * sizeof(unsigned));
  count<<<32, 256>>>(reinterpret_cast<const unsigned*>(in), counts, n / 4);
}
