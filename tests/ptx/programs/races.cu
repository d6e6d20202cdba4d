// Sums and a stencil as textbooks have them, with cooperative groups: races NAME leaves out the
// synchronisation of that name; races none has all. PTX_CHECK=races names the two accesses that then have no
// order. "first: NAME" and "second: NAME" at the end of a line are these.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cstdio>
#include <cstring>

namespace cg = cooperative_groups;

constexpr int kBlock = 128, kBlocks = 4, kSteps = 3;

enum Missing { none, block_sync, next_round, grid_sync, threadfence };

// The sums of the blocks, twice: the second time of the squares.
template <Missing missing>
__global__ void block_sums(const float* x, float* sums) {
  __shared__ float of_warps[kBlock / 32];
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  float value = x[blockIdx.x * kBlock + block.thread_rank()];
  for (int round = 0; round < 2; ++round, value *= value) {
    const float sum = cg::reduce(warp, value, cg::plus<float>());
    if (warp.thread_rank() == 0)
      of_warps[warp.meta_group_rank()] = sum;  // first: block_sync, second: next_round
    if (missing != block_sync || round != 0) block.sync();
    if (block.thread_rank() == kBlock - 1)
      for (int other = 0; other < kBlock / 32; ++other)
        sums[blockIdx.x * 2 + round] += of_warps[other];  // second: block_sync, first: next_round
    if (missing != next_round) block.sync();
  }
}

// Each point becomes the mean of its neighbours, kSteps times.
template <Missing missing>
__global__ void smooth(float* from, float* to) {
  const cg::grid_group grid = cg::this_grid();
  const int n = static_cast<int>(grid.size()), i = static_cast<int>(grid.thread_rank());
  for (int step = 0; step < kSteps; ++step) {
    const float both = from[(i + n - 1) % n] + from[(i + 1) % n];  // second: grid_sync
    to[i] = both / 2;                                              // first: grid_sync
    float* const last = to;
    to = from, from = last;
    if (missing != grid_sync) grid.sync();
  }
}

__device__ unsigned finished;

// The last block adds the sums of all.
template <Missing missing>
__global__ void sum(const float* x, float* of_blocks, float* total) {
  __shared__ bool is_last;
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  if (warp.meta_group_rank() == 0) {
    float mine = 0;
    for (unsigned i = warp.thread_rank(); i < kBlock; i += 32) mine += x[blockIdx.x * kBlock + i];
    const float all = cg::reduce(warp, mine, cg::plus<float>());
    if (warp.thread_rank() == 0) {
      of_blocks[blockIdx.x] = all;  // first: threadfence
      if (missing != threadfence) __threadfence();
      is_last = atomicAdd(&finished, 1u) == kBlocks - 1;
      __threadfence();
    }
  }
  block.sync();
  if (!is_last || block.thread_rank() != 0) return;
  float all = 0;
  for (int b = 0; b < kBlocks; ++b) all += of_blocks[b];  // second: threadfence
  *total = all;
}

template <Missing missing>
void run(float* x, float* y, float* z) {
  block_sums<missing><<<kBlocks, kBlock>>>(x, y);
  void* arguments[] = {&x, &y};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(smooth<missing>), dim3(kBlocks), dim3(kBlock),
                              arguments, 0, nullptr);
  sum<missing><<<kBlocks, kBlock>>>(y, z, z + kBlocks);
}

int main(int count, char** names) {
  const char* const name = count > 1 ? names[1] : "none";
  float* memory;
  cudaMalloc(&memory, 3 * kBlocks * kBlock * sizeof(float));
  cudaMemset(memory, 0, 3 * kBlocks * kBlock * sizeof(float));
  float *const x = memory, *const y = x + kBlocks * kBlock, *const z = y + kBlocks * kBlock;
  float numbers[kBlocks * kBlock];
  for (int i = 0; i < kBlocks * kBlock; ++i) numbers[i] = static_cast<float>(i % 2 * 4);
  cudaMemcpy(x, numbers, sizeof(numbers), cudaMemcpyHostToDevice);
  if (!std::strcmp(name, "none")) run<none>(x, y, z);
  if (!std::strcmp(name, "block_sync")) run<block_sync>(x, y, z);
  if (!std::strcmp(name, "next_round")) run<next_round>(x, y, z);
  if (!std::strcmp(name, "grid_sync")) run<grid_sync>(x, y, z);
  if (!std::strcmp(name, "threadfence")) run<threadfence>(x, y, z);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  float total = 0;
  if (cudaMemcpy(&total, z + kBlocks, sizeof(total), cudaMemcpyDeviceToHost) == cudaSuccess)
    std::printf("total %.1f\n", total);
  return 0;
}
