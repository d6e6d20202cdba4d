// Asks whether its stream is ready until it is.
__global__ void add(const float* a, const float* b, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

void vector_add(const float* a, const float* b, float* sum, int n) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, sum, n);
  while (cudaStreamQuery(stream) == cudaErrorNotReady) continue;
  cudaStreamDestroy(stream);
}
