// Blocks that wait for blocks which no worker has begun: all blocks of a small grid are resident on a GPU.
#include "../simt/host_support.h"

namespace simt_test {
namespace {

// The last block opens the gate for all others; each then adds one.
__global__ void wait_for_the_last(volatile int* gate, int* sum) {
  if (blockIdx.x == gridDim.x - 1) *gate = 1;
  while (*gate == 0) {
  }
  atomicAdd(sum, 1);
}

// Each block waits for the one before it, all its warps together. The first ones begin last with some seeds.
__global__ void wait_for_the_block_before(volatile int* done) {
  while (!__syncthreads_or(blockIdx.x == 0 || done[blockIdx.x - 1])) {
  }
  if (threadIdx.x == 0) done[blockIdx.x] = 1;
}

using WaitingBlocks = HostTest;

TEST_F(WaitingBlocks, ABlockOfTheSameLaunchIsBegun) {
  for (const auto seed :
       {std::optional<uint64_t>{}, std::optional<uint64_t>{1}, std::optional<uint64_t>{2}}) {
    simt::set_seed(seed);
    int* const cells = allocate<int>(2);
    CUDA_OK(cudaMemset(cells, 0, 2 * sizeof(int)));
    wait_for_the_last<<<40, 1>>>(cells, cells + 1);
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(read(cells + 1), 40);
    CUDA_OK(cudaFree(cells));
  }
}

TEST_F(WaitingBlocks, ABlockIsBegunForOthersThatMeetAtBarriers) {
  constexpr int kBlocks = 6;
  for (const auto seed :
       {std::optional<uint64_t>{}, std::optional<uint64_t>{1}, std::optional<uint64_t>{2}}) {
    simt::set_seed(seed);
    int* const done = allocate<int>(kBlocks);
    CUDA_OK(cudaMemset(done, 0, kBlocks * sizeof(int)));
    wait_for_the_block_before<<<kBlocks, 64>>>(done);
    CUDA_OK(cudaDeviceSynchronize());
    EXPECT_EQ(read(done + kBlocks - 1), 1);
    CUDA_OK(cudaFree(done));
  }
}

}  // namespace
}  // namespace simt_test
