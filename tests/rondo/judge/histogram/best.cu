// Each block counts in shared memory; each thread reads 16 bytes at a time.
constexpr int kThreads = 256, kMostBlocks = 432;

__global__ void count(const unsigned char* in, unsigned* counts, int n) {
  __shared__ unsigned block_counts[256];
  for (int b = threadIdx.x; b < 256; b += kThreads) block_counts[b] = 0;
  __syncthreads();
  const auto count_word = [&](unsigned word) {
    for (int k = 0; k < 4; ++k) atomicAdd(&block_counts[word >> 8 * k & 255], 1);
  };
  const int thread = blockIdx.x * kThreads + threadIdx.x, threads = gridDim.x * kThreads;
  for (int i = thread; i < n / 16; i += threads) {
    const uint4 words = reinterpret_cast<const uint4*>(in)[i];
    count_word(words.x), count_word(words.y), count_word(words.z), count_word(words.w);
  }
  for (int i = n / 16 * 16 + thread; i < n; i += threads) atomicAdd(&block_counts[in[i]], 1);
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += kThreads) atomicAdd(&counts[b], block_counts[b]);
}

void histogram(const unsigned char* in, unsigned* counts, int n) {
  cudaMemsetAsync(counts, 0, 256 * sizeof(unsigned));
  count<<<min((n + 16 * kThreads - 1) / (16 * kThreads), kMostBlocks), kThreads>>>(in, counts, n);
}
