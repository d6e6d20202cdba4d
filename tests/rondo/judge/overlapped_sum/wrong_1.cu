// race: the streams share the memory on the device.
#include <algorithm>

__global__ void add(const float* a, const float* b, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

void overlapped_sum(const float* a, const float* b, float* sum, int n) {
  constexpr int kStreams = 3, kPieces = 12;
  const int piece = (n + kPieces - 1) / kPieces;
  cudaStream_t streams[kStreams];
  float* memory;
  for (int s = 0; s < kStreams; ++s) cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking);
  cudaMalloc(&memory, 3 * piece * sizeof(float));
  for (int begin = 0, s = 0; begin < n; begin += piece, s = (s + 1) % kStreams) {
    const int count = std::min(piece, n - begin);
    const size_t bytes = count * sizeof(float);
    float *const da = memory, *const db = da + piece, *const dsum = db + piece;
    cudaMemcpyAsync(da, a + begin, bytes, cudaMemcpyHostToDevice, streams[s]);
    cudaMemcpyAsync(db, b + begin, bytes, cudaMemcpyHostToDevice, streams[s]);
    add<<<(count + 255) / 256, 256, 0, streams[s]>>>(da, db, dsum, count);
    cudaMemcpyAsync(sum + begin, dsum, bytes, cudaMemcpyDeviceToHost, streams[s]);
  }
  for (int s = 0; s < kStreams; ++s) cudaStreamDestroy(streams[s]);
  cudaFree(memory);
}
