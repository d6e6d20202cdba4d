// race: no event tells a device that the previous one has done its step.
#include <vector>

__global__ void add(float* to, const float* from, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] += from[i];
}

namespace {

struct Rank {
  cudaStream_t stream;
  float* received;
};

int begin_of(int n, int chunk, int devices) {
  return static_cast<int>(static_cast<long long>(n) * chunk / devices);
}

}  // namespace

void ring_all_reduce(float* const* data, int n, int devices) {
  if (devices == 1) return;
  std::vector<Rank> ranks(devices);
  for (int d = 0; d < devices; ++d) {
    cudaSetDevice(d);
    cudaStreamCreateWithFlags(&ranks[d].stream, cudaStreamNonBlocking);
    cudaMallocAsync(&ranks[d].received, (n / devices + 1) * sizeof(float), ranks[d].stream);
  }
  for (int step = 0; step < 2 * (devices - 1); ++step) {
    const bool adds = step < devices - 1;
    for (int d = 0; d < devices; ++d) {
      const int previous = (d + devices - 1) % devices, chunk = (d + 2 * devices - 1 - step) % devices;
      const int begin = begin_of(n, chunk, devices), count = begin_of(n, chunk + 1, devices) - begin;
      cudaSetDevice(d);
      float* const mine = data[d] + begin;
      if (count > 0) {
        cudaMemcpyPeerAsync(adds ? ranks[d].received : mine, d, data[previous] + begin, previous,
                            count * sizeof(float), ranks[d].stream);
        if (adds) add<<<(count + 255) / 256, 256, 0, ranks[d].stream>>>(mine, ranks[d].received, count);
      }
    }
  }
  for (int d = 0; d < devices; ++d) {
    cudaSetDevice(d);
    cudaFreeAsync(ranks[d].received, ranks[d].stream);
    cudaStreamDestroy(ranks[d].stream);
  }
}
