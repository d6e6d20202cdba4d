// Takes each chunk to the host and from there to the next device, one device after another.
#include <vector>

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
    std::vector<float> values(count);
    cudaSetDevice(previous);
    cudaMemcpy(values.data(), data[previous] + begin, count * sizeof(float), cudaMemcpyDeviceToHost);
    cudaSetDevice(d);
    float* received;
    cudaMalloc(&received, count * sizeof(float));
    cudaMemcpy(received, values.data(), count * sizeof(float), cudaMemcpyHostToDevice);
    add<<<(count + 255) / 256, 256>>>(data[d] + begin, received, count);
    cudaDeviceSynchronize();
    cudaFree(received);
  }
}
