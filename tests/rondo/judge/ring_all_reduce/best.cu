// A reduce-scatter and an all-gather in a ring. Each device has a stream, and fetches from the previous
// device after the step before of that one. A chunk that is replaced was read devices - 1 steps earlier, by
// the next device: the waits all around the ring order the two.
#include <vector>

__global__ void add(float* to, const float* from, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] += from[i];
}

namespace {

struct Rank {
  cudaStream_t stream;
  cudaEvent_t step_done;
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
    cudaEventCreateWithFlags(&ranks[d].step_done, cudaEventDisableTiming);
    cudaMallocAsync(&ranks[d].received, (n / devices + 1) * sizeof(float), ranks[d].stream);
  }
  for (int step = 0; step < 2 * (devices - 1); ++step) {
    const bool adds = step < devices - 1;
    if (step > 0)  // All waits come before the events are recorded again.
      for (int d = 0; d < devices; ++d)
        cudaStreamWaitEvent(ranks[d].stream, ranks[(d + devices - 1) % devices].step_done, 0);
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
      cudaEventRecord(ranks[d].step_done, ranks[d].stream);
    }
  }
  for (int d = 0; d < devices; ++d) {
    cudaSetDevice(d);
    cudaFreeAsync(ranks[d].received, ranks[d].stream);
    cudaEventDestroy(ranks[d].step_done);
    cudaStreamDestroy(ranks[d].stream);
  }
}
