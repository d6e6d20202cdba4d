// Cooperative launches, the barrier of the grid, and cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <simt/settings.h>

#include "host_support.h"

using namespace simt_test;
namespace cg = cooperative_groups;

namespace {

// Each block adds what all blocks wrote in the round before.
__global__ void rounds(int* values, int count) {
  const cg::grid_group grid = cg::this_grid();
  const auto rank = static_cast<int>(grid.block_rank()), blocks = static_cast<int>(grid.num_blocks());
  for (int round = 1; round < count; ++round) {
    grid.sync();
    if (threadIdx.x != 0) continue;
    int sum = 0;
    for (int block = 0; block < blocks; ++block) sum += values[(round - 1) * blocks + block];
    values[round * blocks + rank] = sum;
  }
}
__global__ void first_blocks_leave(int* value) {
  if (blockIdx.x < 2) return;
  if (blockIdx.x == 2 && threadIdx.x == 0) *value = 5;
  cg::this_grid().sync();
  if (blockIdx.x == 3 && threadIdx.x == 0) *value += cg::this_grid().is_valid();
}
__global__ void half_of_a_block() {
  if (threadIdx.x < 16)
    cg::this_grid().sync();
  else
    __syncthreads();
}
__global__ void tell_validity(int* out) {
  *out = cg::this_grid().is_valid() + 2 * static_cast<int>(simt::cluster_size());
}

using Cooperative = HostTest;

TEST_F(Cooperative, TheBarrierOrdersAllBlocks) {
  constexpr int kRounds = 4;
  for (const auto seed : {std::optional<uint64_t>{}, std::optional<uint64_t>{3}}) {
    simt::set_seed(seed);
    int blocks = 0, multiprocessors = 0;
    CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, rounds, 64, 0));
    CUDA_OK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    blocks = std::min(blocks * multiprocessors, 12);
    std::vector<int> host(static_cast<size_t>(kRounds * blocks), 1);
    int* values = allocate<int>(host.size());
    CUDA_OK(cudaMemcpy(values, host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice));
    int count = kRounds;
    void* arguments[] = {&values, &count};
    CUDA_OK(cudaLaunchCooperativeKernel(rounds, blocks, 64, arguments));
    CUDA_OK(cudaMemcpy(host.data(), values, host.size() * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT_EQ(host[static_cast<size_t>(blocks)], blocks);
    EXPECT_EQ(host.back(), blocks * blocks * blocks);
    CUDA_OK(cudaFree(values));
  }
}

TEST_F(Cooperative, BlocksThatHaveEndedAreNotWaitedFor) {
  int* value = allocate<int>(1);
  void* arguments[] = {&value};
  CUDA_OK(cudaLaunchCooperativeKernel(first_blocks_leave, 4, 96, arguments));
  EXPECT_EQ(read(value), 6);
  CUDA_OK(cudaFree(value));
}

TEST_F(Cooperative, TheGridMustFit) {
  int* value = allocate<int>(1);
  void* arguments[] = {&value};
  CUDA_ERROR(cudaLaunchCooperativeKernel(tell_validity, 1 << 20, 32, arguments),
             cudaErrorCooperativeLaunchTooLarge);
  CUDA_OK(cudaLaunchCooperativeKernel(tell_validity, 2, 1, arguments));
  EXPECT_EQ(read(value), 3);
  CUDA_OK(cudaLaunchKernel(tell_validity, 2, 1, arguments));
  EXPECT_EQ(read(value), 2);
  CUDA_OK(cudaFree(value));
}

TEST_F(Cooperative, MistakesAreFaults) {
  NOT_UNDER_CHECK();
  int* value = allocate<int>(1);
  void* arguments[] = {&value};
  CUDA_OK(cudaLaunchKernel(first_blocks_leave, 4, 32, arguments));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_NE(simt::last_fault().message.find("cudaLaunchCooperativeKernel"), std::string::npos);
  CUDA_OK(cudaDeviceReset());
  CUDA_OK(cudaLaunchCooperativeKernel(half_of_a_block, 2, 32, nullptr));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_NE(simt::last_fault().message.find("threads 0-15 wait at the barrier of the grid"),
            std::string::npos)
      << simt::last_fault().message;
  CUDA_OK(cudaDeviceReset());
}

// Groups of a block of 40 threads.
struct Seen {
  unsigned tile_rank, tile, tiles, ballot, sum, most, scan, exclusive, inner, group_sum, same, all, alone;
};
__device__ unsigned sum_of(cg::thread_group group, unsigned* scratch, unsigned value) {
  for (unsigned half = group.size() / 2; half > 0; half /= 2) {
    scratch[group.thread_rank()] = value;
    group.sync();
    if (group.thread_rank() < half) value += scratch[group.thread_rank() + half];
    group.sync();
  }
  return value;
}
__global__ void groups(Seen* out) {
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  const auto inner = cg::tiled_partition<2>(tile);
  const unsigned rank = block.thread_rank();
  Seen& seen = out[rank];
  seen.tile_rank = tile.thread_rank();
  seen.tile = tile.meta_group_rank();
  seen.tiles = tile.meta_group_size();
  seen.ballot = tile.ballot(rank % 8 < 3);
  seen.sum = cg::reduce(tile, rank, cg::plus<unsigned>());
  seen.most = cg::reduce(tile, rank, cg::greater<unsigned>());
  seen.scan = cg::inclusive_scan(tile, 1u);
  seen.exclusive = cg::exclusive_scan(tile, rank);
  seen.inner = inner.meta_group_rank() + 10 * inner.meta_group_size() + 100 * inner.shfl(rank, 1);
  const cg::coalesced_group same = cg::labeled_partition(tile, static_cast<int>(rank % 3));
  seen.same = cg::reduce(same, 1u, cg::plus<unsigned>()) + 10 * same.thread_rank();
  int all = 0;
  tile.match_all(7, all);
  seen.all = static_cast<unsigned>(all);
  tile.match_all(rank, all);
  seen.all += 2 * static_cast<unsigned>(all);
  seen.alone = cg::coalesced_threads().size();
  auto* const scratch = static_cast<unsigned*>(simt::shared_memory(40 * sizeof(unsigned)));
  const cg::thread_group four = cg::tiled_partition(block, 4);
  seen.group_sum = sum_of(four, scratch + rank / 4 * 4, rank);
}

TEST_F(Cooperative, TilesOfABlock) {
  constexpr unsigned kThreads = 40;
  Seen* out = allocate<Seen>(kThreads);
  void* arguments[] = {&out};
  CUDA_OK(cudaLaunchKernel(groups, 1, kThreads, arguments, kThreads * sizeof(unsigned)));
  std::vector<Seen> host(kThreads);
  CUDA_OK(cudaMemcpy(host.data(), out, kThreads * sizeof(Seen), cudaMemcpyDeviceToHost));
  for (unsigned rank = 0; rank < kThreads; ++rank) {
    const Seen& seen = host[rank];
    const unsigned in_tile = rank % 8, first = rank - in_tile;
    EXPECT_EQ(seen.tile_rank, in_tile);
    EXPECT_EQ(seen.tile, rank / 8);
    EXPECT_EQ(seen.tiles, 5u);
    EXPECT_EQ(seen.ballot, 7u);
    EXPECT_EQ(seen.sum, 8 * first + 28);
    EXPECT_EQ(seen.most, first + 7);
    EXPECT_EQ(seen.scan, in_tile + 1);
    EXPECT_EQ(seen.exclusive, first * in_tile + in_tile * (in_tile - 1) / 2);
    EXPECT_EQ(seen.inner, in_tile / 2 + 40 + 100 * (rank | 1));
    unsigned same = 0, before = 0;
    for (unsigned other = first; other < first + 8; ++other)
      if (other % 3 == rank % 3) ++same, before += other < rank;
    EXPECT_EQ(seen.same, same + 10 * before);
    EXPECT_EQ(seen.all, 1u);
    EXPECT_EQ(seen.alone, 1u);
    if (rank % 4 == 0) {
      EXPECT_EQ(seen.group_sum, 4 * rank + 6);
    }
  }
  CUDA_OK(cudaFree(out));
}

// The ranks of a group that are `delta` below and above. Where there is none, a thread has its own value.
struct Shifted {
  unsigned size, rank, up, down, around;
};
__global__ void shift(Shifted* out, unsigned delta) {
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const cg::coalesced_group same = cg::labeled_partition(tile, static_cast<int>(threadIdx.x % 3));
  const unsigned rank = same.thread_rank(), value = 10 + rank;
  out[threadIdx.x] = {same.size(), rank, same.shfl_up(value, delta), same.shfl_down(value, delta),
                      same.shfl(value, rank + delta)};
}

TEST_F(Cooperative, ShufflesOfAGroupEndAtItsRanks) {
  Shifted* out = allocate<Shifted>(8);
  for (unsigned delta : {0u, 1u, 2u, 3u, 4u, 32u}) {
    void* arguments[] = {&out, &delta};
    CUDA_OK(cudaLaunchKernel(shift, 1, 8, arguments));
    Shifted host[8];
    CUDA_OK(cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost));
    for (const Shifted& seen : host) {
      const unsigned up = seen.rank < delta ? seen.rank : seen.rank - delta;
      const unsigned down = seen.rank + delta < seen.size ? seen.rank + delta : seen.rank;
      EXPECT_EQ(seen.up, 10 + up) << delta;
      EXPECT_EQ(seen.down, 10 + down) << delta;
      EXPECT_EQ(seen.around, 10 + (seen.rank + delta) % seen.size) << delta;
    }
  }
  CUDA_OK(cudaFree(out));
}

// Copies to shared memory at every alignment.
__global__ void copy(const char* from, char* to, int bytes, int shift) {
  const cg::thread_block block = cg::this_thread_block();
  char* const shared = static_cast<char*>(simt::shared_memory(256)) + shift;
  cg::memcpy_async(block, shared, from + shift, static_cast<size_t>(bytes));
  cg::wait(block);
  for (int i = static_cast<int>(threadIdx.x); i < bytes; i += static_cast<int>(blockDim.x))
    to[i] = shared[bytes - 1 - i];
}

TEST_F(Cooperative, CopiesAreCompleteAfterTheWait) {
  std::vector<char> host(256), back(256);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<char>(i * 7);
  char *from = allocate<char>(256), *to = allocate<char>(256);
  CUDA_OK(cudaMemcpy(from, host.data(), 256, cudaMemcpyHostToDevice));
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    for (const int shift : {0, 1, 4, 8, 16})
      for (int bytes : {1, 17, 203}) {
        void* arguments[] = {&from, &to, &bytes, const_cast<int*>(&shift)};
        CUDA_OK(cudaLaunchKernel(copy, 1, 32, arguments, 256));
        CUDA_OK(cudaMemcpy(back.data(), to, 256, cudaMemcpyDeviceToHost));
        for (int i = 0; i < bytes; ++i)
          ASSERT_EQ(back[static_cast<size_t>(i)], host[static_cast<size_t>(shift + bytes - 1 - i)])
              << shift << " " << bytes << " " << late;
      }
  }
  simt::set_late_copies(false);
  CUDA_OK(cudaFree(from));
  CUDA_OK(cudaFree(to));
}

}  // namespace
