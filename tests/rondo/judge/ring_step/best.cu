// Each device fetches its chunk into memory of its own, and adds it, in its stream. The chunk that a device
// sends is not the one that it changes, so nothing orders the devices.
__global__ void add(float* to, const float* from, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] += from[i];
}

static int begin_of(int n, int chunk, int devices) {
  return static_cast<int>(static_cast<long long>(n) * chunk / devices);
}

void ring_step(float* const* data, int n, int step, int devices) {
  for (int d = 0; d < devices; ++d) {
    const int previous = (d + devices - 1) % devices, chunk = (d + 2 * devices - 1 - step) % devices;
    const int begin = begin_of(n, chunk, devices), count = begin_of(n, chunk + 1, devices) - begin;
    if (count == 0) continue;
    cudaSetDevice(d);
    float* received;
    cudaMallocAsync(&received, count * sizeof(float), 0);
    cudaMemcpyPeerAsync(received, d, data[previous] + begin, previous, count * sizeof(float), 0);
    add<<<(count + 255) / 256, 256>>>(data[d] + begin, received, count);
    cudaFreeAsync(received, 0);
  }
}
