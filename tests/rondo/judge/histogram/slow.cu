// All threads count in memory.
__global__ void count(const unsigned char* in, unsigned* counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[in[i]], 1);
}

void histogram(const unsigned char* in, unsigned* counts, int n) {
  cudaMemsetAsync(counts, 0, 256 * sizeof(unsigned));
  count<<<(n + 255) / 256, 256>>>(in, counts, n);
}
