// Variables of devices: constant, global and managed memory, on two devices.
#include <cstdio>

struct Params { float scale; int shift[2]; };

__constant__ float weights[4];
__constant__ Params params = {2.0f, {3, 4}};
extern __device__ int counter;
__device__ int counter = 10;
__device__ float *pointer, values[3] = {1, 2, 3};
__device__ volatile int flag;
static __device__ unsigned long long total = 1ull << 40;
__managed__ int shared_with_host = 5;
__device__ const float kTable[] = {0.5f, 0.25f};
__constant__ constexpr int kFixed = 6;
namespace inner { __device__ int hidden = 7; }
template <class T> struct Box { T content; };
__device__ Box<int> box;
__device__ Box<const float> box_of_const = {1};
__device__ float half_of(float x) { return x / 2; }
__device__ float (*function)(float) = half_of;
struct WithConstant { static constexpr __device__ int value = 8; };

__device__ int next() { return atomicAdd(&counter, 1); }
__global__ void uses(float* out) {
  out[0] = weights[3] * params.scale + static_cast<float>(params.shift[1]);
  out[1] = static_cast<float>(next());
  out[2] = values[1] + kTable[1] + kFixed + static_cast<float>(sizeof(weights) / sizeof(weights[0]));
  out[3] = static_cast<float>(inner::hidden + WithConstant::value);
  values[0] += 1;
  flag = 1;
  total += 1;
  box.content = 9;
  pointer = &values[0];
  atomicAdd(&shared_with_host, 1);
}
__global__ void hides(float* out, int counter) {
  float weights = 2;
  out[0] = weights + static_cast<float>(counter);
}
__global__ void through_pointer(float* out) { out[0] = *pointer; }

void show(int device) {
  cudaSetDevice(device);
  const float host[4] = {1, 2, 3, static_cast<float>(4 + device)};
  cudaMemcpyToSymbol(weights, host, sizeof(host));
  float *out, result[4];
  cudaMalloc(&out, sizeof(result));
  uses<<<1, 1>>>(out);
  cudaMemcpy(result, out, sizeof(result), cudaMemcpyDeviceToHost);
  std::printf("device %d: %g %g %g %g\n", device, result[0], result[1], result[2], result[3]);
  hides<<<1, 1>>>(out, 20);
  cudaMemcpy(result, out, sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("hidden names: %g\n", result[0]);
  through_pointer<<<1, 1>>>(out);
  cudaMemcpy(result, out, sizeof(float), cudaMemcpyDeviceToHost);
  int count = 0, content = 0;
  unsigned long long sum = 0;
  cudaMemcpyFromSymbol(&count, counter, sizeof(count));
  cudaMemcpyFromSymbol(&sum, total, sizeof(sum));
  cudaMemcpyFromSymbol(&content, box, sizeof(content), 0, cudaMemcpyDeviceToHost);
  std::printf("pointer to %g, counter %d, total - 2^40 = %llu, box %d, managed %d\n", result[0], count,
              sum - (1ull << 40), content, shared_with_host);
  void* address = nullptr;
  size_t bytes = 0;
  cudaGetSymbolAddress(&address, values);
  cudaGetSymbolSize(&bytes, values);
  cudaMemcpy(result, address, bytes, cudaMemcpyDeviceToHost);
  std::printf("%zu bytes of values: %g %g %g\n", bytes, result[0], result[1], result[2]);
  float (*on_host)(float) = nullptr;
  std::printf("a function %s, a constant inside %s\n",
              cudaGetErrorName(cudaMemcpyFromSymbol(&on_host, function, sizeof(on_host))),
              cudaGetErrorName(cudaMemcpyFromSymbol(result, box_of_const, sizeof(float))));
  std::printf("%s\n", cudaGetErrorName(cudaMemcpyToSymbol(weights, host, sizeof(host), sizeof(float))));
  cudaGetLastError();
}

int main() {
  show(0);
  show(1);
  show(0);
}
