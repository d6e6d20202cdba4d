// race: the sender's stream has the copy, and the receiver does not wait for it.
__global__ void add(float* to, const float* from, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] += from[i];
}

static int begin_of(int n, int chunk, int devices) {
  return static_cast<int>(static_cast<long long>(n) * chunk / devices);
}

void ring_step(float* const* data, int n, int step, int devices) {
  for (int d = 0; d < devices; ++d) {
    const int next = (d + 1) % devices, chunk = (d + devices - step) % devices;
    const int begin = begin_of(n, chunk, devices), count = begin_of(n, chunk + 1, devices) - begin;
    if (count == 0) continue;
    float* received;
    cudaSetDevice(next);
    cudaMalloc(&received, count * sizeof(float));
    cudaSetDevice(d);
    cudaMemcpyPeerAsync(received, next, data[d] + begin, d, count * sizeof(float), 0);
    cudaSetDevice(next);
    add<<<(count + 255) / 256, 256>>>(data[next] + begin, received, count);
  }
}
