// A program as textbooks have it: <<<>>>, shared memory, cooperative groups, printf, CUB, symbols, managed
// memory. tools/ptx/run runs it; nothing in it is for that.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <vector>

namespace cg = cooperative_groups;

#define CHECK(call)                                                                            \
  do {                                                                                         \
    const cudaError_t error = (call);                                                          \
    if (error != cudaSuccess) {                                                                \
      std::printf("%s: %s (%s)\n", #call, cudaGetErrorName(error), cudaGetErrorString(error)); \
      std::exit(1);                                                                            \
    }                                                                                          \
  } while (false)

__constant__ float weights[4];
__device__ unsigned finished_blocks;
__managed__ int answer = 41;

__global__ void weighted_sum(int n, const float* x, float* sum) {
  __shared__ float partial[256];
  float mine = 0;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
       i += static_cast<int>(gridDim.x * blockDim.x))
    mine += weights[i % 4] * x[i];
  partial[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    atomicAdd(sum, partial[0]);
    __threadfence();
    if (atomicAdd(&finished_blocks, 1u) == gridDim.x - 1) printf("all %u blocks: %.1f\n", gridDim.x, *sum);
  }
}

__global__ void tile_sums(const int* x, int* sums) {
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const int sum = cg::reduce(tile, x[blockIdx.x * blockDim.x + threadIdx.x], cg::plus<int>());
  if (tile.thread_rank() == 0) sums[(blockIdx.x * blockDim.x + threadIdx.x) / 8] = sum;
}

// Each step needs the values of all blocks from the step before.
__global__ void rotate(int* a, int* b, int steps) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned n = static_cast<unsigned>(grid.size()), i = static_cast<unsigned>(grid.thread_rank());
  for (int step = 0; step < steps; ++step) {
    (step % 2 ? a : b)[i] = (step % 2 ? b : a)[(i + 33) % n];
    grid.sync();
  }
}

__global__ void increment() { ++answer; }

template <class T>
std::vector<T> to_host(const T* device, size_t count) {
  std::vector<T> host(count);
  CHECK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

int main() {
  constexpr int n = 1000;
  float *x, *sum;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  CHECK(cudaMalloc(&sum, sizeof(float)));
  const std::vector<float> ones(n, 1.0f);
  const float four[4] = {1, 2, 3, 4};
  CHECK(cudaMemcpy(x, ones.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(sum, 0, sizeof(float)));
  CHECK(cudaMemcpyToSymbol(weights, four, sizeof(four)));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin));
  weighted_sum<<<3, 256>>>(n, x, sum);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  std::printf("weighted sum %.1f, time measured: %s\n", to_host(sum, 1)[0], milliseconds >= 0 ? "yes" : "no");

  int *a, *b;
  CHECK(cudaMalloc(&a, 256 * sizeof(int)));
  CHECK(cudaMalloc(&b, 256 * sizeof(int)));
  std::vector<int> numbers(256);
  for (int i = 0; i < 256; ++i) numbers[static_cast<size_t>(i)] = i;
  CHECK(cudaMemcpy(a, numbers.data(), 256 * sizeof(int), cudaMemcpyHostToDevice));
  tile_sums<<<2, 128>>>(a, b);
  std::printf("sums of 8: %d, %d\n", to_host(b, 32)[0], to_host(b, 32)[31]);

  int steps = 4;
  void* arguments[] = {&a, &b, &steps};
  CHECK(
      cudaLaunchCooperativeKernel(reinterpret_cast<void*>(rotate), dim3(4), dim3(64), arguments, 0, nullptr));
  std::printf("rotated: %d\n", to_host(a, 1)[0]);

  size_t bytes = 0;
  CHECK(cub::DeviceScan::InclusiveSum(nullptr, bytes, a, b, 256));
  void* storage;
  CHECK(cudaMalloc(&storage, bytes));
  CHECK(cub::DeviceScan::InclusiveSum(storage, bytes, a, b, 256));
  std::printf("scan: %d\n", to_host(b, 256)[255]);
  CHECK(cub::DeviceRadixSort::SortKeysDescending(nullptr, bytes, a, b, 256));
  CHECK(cudaFree(storage));
  CHECK(cudaMalloc(&storage, bytes));
  CHECK(cub::DeviceRadixSort::SortKeysDescending(storage, bytes, a, b, 256));
  std::printf("sorted: %d, %d\n", to_host(b, 256)[0], to_host(b, 256)[255]);

  increment<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  std::printf("managed: %d\n", answer);
  return 0;
}
