// The race detector: the barrier of a cluster, shared memory of other blocks, arrivals and multicasts.
#include <rondo/kernels/core/ptx/cluster.cuh>
#include <rondo/kernels/core/ptx/cp_async.cuh>
#include <rondo/kernels/core/ptx/wgmma.cuh>

#include "race_check.h"

using namespace race_check;
namespace ptx = rondo::ptx;

namespace {

ptx::Mbarrier* barrier(int index = 0) { return &shared<ptx::Mbarrier>(448 + index); }  // after 3584 bytes
// Thread 0 initializes two mbarriers, and the cluster learns of it, and that all blocks have started.
void init(unsigned first_count = 1, unsigned second_count = 1) {
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(barrier(0), first_count);
    ptx::mbarrier_init(barrier(1), second_count);
    ptx::mbarrier_init_fence();
  }
  ptx::cluster_sync();
}
// The int at `index` of another block's shared memory.
int& remote(unsigned rank, int index) { return *ptx::cluster_map(&shared<int>(index), rank); }

// Rank 0 writes to the last block, which reads.
enum class Between { nothing, block_barrier, cluster_barrier };
__global__ void remote_store(Between between) {
  ptx::cluster_sync();
  const unsigned last = ptx::cluster_size() - 1;
  if (ptx::cluster_rank() == 0) remote(last, static_cast<int>(threadIdx.x)) = 1;  // remote_store: write
  if (between == Between::block_barrier) __syncthreads();
  if (between == Between::cluster_barrier) ptx::cluster_sync();
  if (ptx::cluster_rank() == last) use(shared<int>(threadIdx.x));  // remote_store: read
  ptx::cluster_sync();
}
// The write comes before the thread arrives at the barrier of the cluster, or between that and the wait.
__global__ void split_barrier(bool early) {
  ptx::cluster_sync();
  const unsigned other = ptx::cluster_size() - 1 - ptx::cluster_rank();
  for (int part = 0; part < 2; ++part) {
    if ((part == 0) == early && threadIdx.x == 5) remote(other, 0) = 1;  // split_barrier: write
    if (part == 0) ptx::cluster_arrive();
  }
  ptx::cluster_wait();
  use(shared<int>(0));                                           // split_barrier: read
  ptx::cluster_sync();
}
// Blocks that pass different numbers of their own barriers.
__global__ void block_barriers(bool barrier_between) {
  const unsigned rank = ptx::cluster_rank();
  for (unsigned i = 0; i <= rank; ++i) {
    shared<int>(threadIdx.x) = 1;                                // block_barriers: write
    if (barrier_between) __syncthreads();
    use(shared<int>(blockDim.x - 1 - threadIdx.x));              // block_barriers: read
    __syncthreads();
  }
  ptx::cluster_sync();
}
// What concerns one block only, in each block of a cluster.
enum class Own { nothing, syncwarp, copy_wait };
__global__ void own_work(const int* from, Own missing) {
  const int i = static_cast<int>(threadIdx.x);
  shared<int>(threadIdx.x) = 1;                                  // own_work: write
  if (missing != Own::syncwarp) __syncwarp();
  use(shared<int>(threadIdx.x ^ 1));                             // own_work: read
  ptx::cp_async<4>(&shared<int>(128 + threadIdx.x), from + i, true);  // own_work: copy
  ptx::cp_async_commit();
  if (missing != Own::copy_wait) ptx::cp_async_wait<0>();
  use(shared<int>(128 + threadIdx.x));                           // own_work: read of a copy
  ptx::cp_async_wait<0>();
}
__global__ void remote_atomics(bool wait) {
  if (threadIdx.x == 0) shared<int>(0) = 0;
  ptx::cluster_sync();
  atomicAdd(&remote(0, 0), 1);                                   // remote_atomics: add
  ptx::cluster_arrive();
  if (wait) ptx::cluster_wait();
  if (ptx::cluster_rank() == 0) use(shared<int>(0));             // remote_atomics: read
  if (!wait) ptx::cluster_wait();
  ptx::cluster_sync();
}

// Rank 1 writes to rank 0 and arrives there; rank 0 waits and reads.
enum class Arrival { release, too_early, relaxed, relaxed_after_fence, relaxed_after_block_fence };
__global__ void pass_to_block(Arrival arrival) {
  init();
  if (threadIdx.x == 0 && ptx::cluster_rank() == 1) {
    if (arrival == Arrival::too_early) ptx::cluster_arrive_at(barrier(), 0);
    remote(0, 0) = 1;                                            // pass_to_block: write
    if (arrival == Arrival::relaxed_after_fence) __threadfence();
    if (arrival == Arrival::relaxed_after_block_fence) __threadfence_block();
    if (arrival == Arrival::release)
      ptx::cluster_arrive_at(barrier(), 0);
    else if (arrival != Arrival::too_early)
      ptx::cluster_arrive_at_relaxed(barrier(), 0);
  } else if (threadIdx.x == 0) {
    ptx::cluster_mbarrier_wait(barrier(), 0);
    use(shared<int>(0));                                         // pass_to_block: read
  }
  ptx::cluster_sync();
}
// Rank 0 fills a slot of rank 1 four times. Barrier 0 of rank 1: full; barrier 1 of rank 0: empty.
__global__ void remote_ring(bool read_first) {
  init();
  for (unsigned step = 0; step < 4 && threadIdx.x == 0; ++step) {
    if (ptx::cluster_rank() == 0) {
      ptx::cluster_mbarrier_wait(barrier(1), (step & 1) ^ 1);
      remote(1, 0) = 1;                                          // remote_ring: write
      ptx::cluster_arrive_at(barrier(0), 1);
    } else {
      ptx::cluster_mbarrier_wait(barrier(0), step & 1);
      if (!read_first) ptx::cluster_arrive_at(barrier(1), 0);
      use(shared<int>(0));                                       // remote_ring: read
      if (read_first) ptx::cluster_arrive_at(barrier(1), 0);
    }
  }
  ptx::cluster_sync();
}

// Rank 0 loads a tile to all blocks, in each of which every thread reads a word.
enum class Wait { own_mbarrier, of_the_other_block, nothing };
__global__ void multicast_tile(const int* from, Wait wait) {
  init();
  const unsigned bytes = 4 * blockDim.x, rank = ptx::cluster_rank();
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(barrier(), bytes);
    if (rank == 0)
      ptx::bulk_load_multicast(&shared<int>(0), from, bytes, barrier(), 0b11);  // multicast_tile: copy
  }
  if (wait == Wait::own_mbarrier || (wait == Wait::of_the_other_block && rank == 0))
    ptx::mbarrier_wait(barrier(), 0);
  if (wait == Wait::of_the_other_block) ptx::cluster_sync();
  use(shared<int>(threadIdx.x));                                 // multicast_tile: read
  ptx::mbarrier_wait(barrier(), 0);
  ptx::cluster_sync();
}
// Rank 0 loads two tiles to the same place of both blocks: the second one when the thread that reads the
// first in each block has released it, or only that of rank 0. Barriers 0 and 1: full; barrier 2: empty.
__global__ void multicast_refill(const int* from, bool both_release) {
  if (threadIdx.x == 0) ptx::mbarrier_init(barrier(2), both_release ? 2 : 1);
  init();
  const unsigned rank = ptx::cluster_rank();
  if (threadIdx.x == 0) {
    for (int tile = 0; tile < 2; ++tile) ptx::mbarrier_arrive_expect_tx(barrier(tile), 64);
    for (int tile = 0; tile < 2 && rank == 0; ++tile) {
      if (tile == 1) ptx::cluster_mbarrier_wait(barrier(2), 0);
      ptx::bulk_load_multicast(&shared<int>(0), from, 64, barrier(tile), 0b11);  // multicast_refill: copy
    }
  } else if (threadIdx.x == 32) {
    ptx::mbarrier_wait(barrier(0), 0);
    use(shared<int>(5));                                         // multicast_refill: read
    if (both_release || rank == 0) ptx::cluster_arrive_at(barrier(2), 0);
    ptx::mbarrier_wait(barrier(1), 0);
  }
  ptx::cluster_sync();
}

// A warpgroup of rank 1 multiplies, and its warps release an operand to a thread of rank 0, which overwrites
// it. They do so by relaxed arrivals, after each warp's wait, or only the first warp does.
__device__ void multiply(int a_at) {
  float d[4] = {};
  ptx::wgmma_fence();
  const ptx::SharedMatrix a{&shared<int>(a_at), 128, 256, ptx::MatrixSwizzle::none};
  const ptx::SharedMatrix b{&shared<int>(512), 128, 256, ptx::MatrixSwizzle::none};
  ptx::wgmma<__nv_bfloat16, 8>(d, ptx::descriptor(a), ptx::descriptor(b), false);  // operand: wgmma
  ptx::wgmma_commit();
  ptx::wgmma_wait<0>();
  use(static_cast<int>(d[0]));
}
enum class Releases { of_all_warps, of_one_warp, of_a_read };
__global__ void release_operand(Releases releases) {
  if (threadIdx.x == 0) ptx::mbarrier_init(barrier(2), releases == Releases::of_one_warp ? 1 : 4);
  for (unsigned i = threadIdx.x; i < 800; i += 128) shared<int>(i) = 0;
  ptx::async_proxy_fence();
  init();
  if (ptx::cluster_rank() == 1) {
    multiply(0);
    if (releases == Releases::of_a_read && threadIdx.x == 64) use(shared<int>(0));  // operand: read
    if (threadIdx.x % 32 == 0 && (releases != Releases::of_one_warp || threadIdx.x == 0))
      ptx::cluster_arrive_at_relaxed(barrier(2), 0);
  } else if (threadIdx.x == 0) {
    ptx::mbarrier_wait(barrier(2), 0);
    remote(1, 0) = 1;                                            // operand: write
  }
  ptx::cluster_sync();
}
// Rank 0 loads the operands of both blocks twice: the second time when all warps have released them, by
// relaxed arrivals.
__global__ void refill_operands(const int* from) {
  if (threadIdx.x == 0) ptx::mbarrier_init(barrier(2), 8);
  init();
  for (int tile = 0; tile < 2; ++tile) {
    if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(barrier(tile), 2304);
    if (threadIdx.x == 0 && ptx::cluster_rank() == 0) {
      if (tile == 1) ptx::mbarrier_wait(barrier(2), 0);
      ptx::bulk_load_multicast(&shared<int>(0), from, 2304, barrier(tile), 0b11);
    }
    ptx::mbarrier_wait(barrier(tile), 0);
    multiply(0);
    if (threadIdx.x % 32 == 0 && tile == 0) ptx::cluster_arrive_at_relaxed(barrier(2), 0);
  }
  ptx::cluster_sync();
}
// Rank 0 writes an operand of rank 1. A fence of rank 1 follows a barrier, but not the writes.
enum class Fence { of_the_writers, of_the_other_block, none };
__global__ void write_operand(Fence fence) {
  ptx::cluster_sync();
  if (ptx::cluster_rank() == 0) {
    for (unsigned i = threadIdx.x; i < 800; i += 128) remote(1, static_cast<int>(i)) = 0;  // operand: fill
    if (fence == Fence::of_the_writers) ptx::async_proxy_fence();
  } else {
    __syncthreads();
    if (fence == Fence::of_the_other_block) ptx::async_proxy_fence();
  }
  ptx::cluster_sync();
  if (ptx::cluster_rank() == 1) multiply(0);
}

// Rank 0 reaches the shared memory of rank 1 first, and last.
__global__ void before_the_start(bool barrier_before) {
  if (barrier_before) ptx::cluster_sync();
  if (ptx::cluster_rank() == 0 && threadIdx.x == 0) remote(1, 0) = 1;  // before_the_start: write
  ptx::cluster_sync();
}
enum class Last { barrier, nothing, awaited_arrival, fence_and_arrival, arrival };
__global__ void after_the_end(Last last) {
  init();
  int& there = remote(1 - ptx::cluster_rank(), 0);
  ptx::cluster_sync();
  if (ptx::cluster_rank() == 0 && threadIdx.x == 0) {
    if (last == Last::barrier || last == Last::nothing || last == Last::fence_and_arrival)
      there = 1;                                                 // after_the_end: write
    if (last == Last::fence_and_arrival) __threadfence();
    if (last != Last::barrier && last != Last::nothing)
      ptx::cluster_arrive_at_relaxed(barrier(), 1);              // after_the_end: arrival
  }
  if (last == Last::barrier) ptx::cluster_sync();
  if ((last == Last::awaited_arrival || last == Last::fence_and_arrival) && ptx::cluster_rank() == 1)
    ptx::cluster_mbarrier_wait(barrier(), 0);
  if (last == Last::arrival && ptx::cluster_rank() == 1 && threadIdx.x == 0) ptx::mbarrier_arrive(barrier(1));
  if (last == Last::arrival && ptx::cluster_rank() == 1) ptx::mbarrier_wait(barrier(1), 0);
}

// Rank 0 would pass a barrier after its access, if there were no fault.
__global__ void fault_after_access() {
  ptx::cluster_sync();
  if (ptx::cluster_rank() == 0) remote(1, 0) = 1;
  if (ptx::cluster_rank() == 0) __trap();
  ptx::cluster_sync();
}
// Threads of one cluster, or of two, write the same words.
__global__ void write_global(int* values) {
  values[threadIdx.x + 40 * (blockIdx.x / 4)] = 1;               // write_global: write
  ptx::cluster_sync();
}
// All threads read a word of global or shared memory, and one of them writes it. The last read, by another
// thread of the writer's block, is ordered; those of the other block are not.
__global__ void read_and_write(int* global) {
  if (threadIdx.x == 0) shared<int>(0) = 0;
  ptx::cluster_sync();
  int& word = global ? *global : remote(0, 0);
  const unsigned rank = ptx::cluster_rank();
  ptx::cluster_arrive();
  const bool late = rank == 0 && threadIdx.x == 1;
  if (!late) use(word);                                          // read_and_write: read
  ptx::cluster_wait();
  if (late) use(word);
  if (rank == 0) __syncthreads();  // a barrier of the cluster is needed
  if (rank == 0 && threadIdx.x == 0) word = 1;                   // read_and_write: write
  ptx::cluster_sync();
}
// All clusters write values; the last one to finish reads all of them. Thread 0 of each cluster counts.
enum class Missing { nothing, barrier, fence, fence_of_the_counter };
__global__ void count_clusters(int* values, int* count, Missing missing) {
  const unsigned rank = ptx::cluster_rank(), size = ptx::cluster_size();
  ptx::cluster_sync();
  values[blockIdx.x * blockDim.x + threadIdx.x] = 1;             // count_clusters: write
  if (missing != Missing::barrier)
    ptx::cluster_sync();
  else
    __syncthreads();
  if (missing == Missing::fence_of_the_counter) {
    if (rank == 1 && threadIdx.x == 3) __threadfence();
    ptx::cluster_sync();
  }
  if (rank == 0 && threadIdx.x == 0) {
    if (missing == Missing::nothing || missing == Missing::barrier) __threadfence();
    const bool last = atomicAdd(count, 1) == static_cast<int>(gridDim.x / size) - 1;
    __threadfence();
    for (unsigned to = 0; to < size; ++to) remote(to, 0) = last;
  }
  ptx::cluster_sync();
  if (shared<int>(0) == 1)
    for (unsigned i = threadIdx.x; i < gridDim.x * blockDim.x; i += 7)
      use(values[i]);                                            // count_clusters: read
}

template <class... Parameters, class... Arguments>
void launch_clusters(dim3 grid, dim3 cluster, unsigned threads, void (*kernel)(Parameters...),
                     Arguments... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = threads;
  config.dynamicSmemBytes = 4096;
  config.attrs = &attribute;
  config.numAttrs = 1;
  ASSERT_EQ(cudaLaunchKernelEx(&config, kernel, arguments...), cudaSuccess);
  ++launches;
}

// ----------------------------------------------------------------------------------------------------------

class RaceCheckCluster : public RaceCheck {
 protected:
  void TearDown() override {
    simt::set_seed(std::nullopt);
    simt::set_late_copies(false);
    RaceCheck::TearDown();
  }
  // Calls test() in order, and for some seeds, which change the order of blocks and threads.
  template <class Test>
  static void in_orders(Test test) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      if (seed != 0) simt::set_seed(seed);
      test();
    }
    simt::set_seed(std::nullopt);
  }
  // Findings in the shared memory of `block`, if it is not empty, whose accesses are at these lines. Their
  // kinds depend on the order.
  template <class Work>
  static void expect_between(const std::string& one, const std::string& other, const std::string& block,
                             Work work) {
    const std::set<int> expected = {line_of(one), line_of(other)};
    bool found = false;
    for (const Finding& finding : findings_of(work)) {
      std::set<int> lines = {line(finding.access)};
      if (finding.earlier) lines.insert(line(*finding.earlier));
      found = found || lines == expected;
      EXPECT_TRUE(expected.contains(*lines.begin()) && expected.contains(*lines.rbegin())) << finding.text;
      EXPECT_TRUE(says(finding, " of the shared memory of block (" + block)) << finding.text;
    }
    EXPECT_TRUE(found);
  }
};

TEST_F(RaceCheckCluster, RemoteStores) {
  in_orders([] {
    expect_silent([] { launch_clusters(4, 2, 40, remote_store, Between::cluster_barrier); });
    expect_silent([] { launch_clusters(8, 8, 40, remote_store, Between::cluster_barrier); });
    for (const Between between : {Between::nothing, Between::block_barrier}) {
      const Finding finding = expect_race("remote_store: write", "remote_store: read",
                                          [&] { launch_clusters(2, 2, 40, remote_store, between); });
      EXPECT_TRUE(says(finding, " of the shared memory of block (1, 0, 0):")) << finding.text;
      EXPECT_TRUE(says(finding, "Neither the barrier of the cluster nor an mbarrier")) << finding.text;
    }
  });
}

TEST_F(RaceCheckCluster, BlocksAreNamedByTheirPlaceInTheGrid) {
  const Finding finding = expect_race("remote_store: write", "remote_store: read", [] {
    launch_clusters(dim3(2, 3, 4), dim3(2, 3, 1), 1, remote_store, Between::nothing);
  });
  const bool write_first = finding.earlier->kind == simt::AccessKind::store;
  const uint3 writes = write_first ? finding.earlier->block : finding.access.block;
  const uint3 reads = write_first ? finding.access.block : finding.earlier->block;
  const std::string z = std::to_string(reads.z);  // any of the clusters may run first
  EXPECT_TRUE(says(finding, "byte 0 of the shared memory of block (1, 2, " + z + "):")) << finding.text;
  EXPECT_EQ(finding.offset, 0u);
  EXPECT_EQ(std::tuple(writes.x, writes.y, writes.z), std::tuple(0u, 0u, reads.z)) << finding.text;
  EXPECT_EQ(std::tuple(reads.x, reads.y), std::tuple(1u, 2u)) << finding.text;
  EXPECT_EQ(finding.times, 4u);  // in each cluster
}

TEST_F(RaceCheckCluster, BarrierOrdersWhatComesBeforeTheArrival) {
  in_orders([] {
    for (const unsigned blocks : {1u, 2u}) {
      expect_silent([&] { launch_clusters(2, blocks, 40, split_barrier, true); });
      expect_race("split_barrier: write", "split_barrier: read",
                  [&] { launch_clusters(2, blocks, 40, split_barrier, false); });
    }
  });
}

TEST_F(RaceCheckCluster, BarrierOfABlockIsNotOfTheCluster) {
  in_orders([] {
    expect_silent([] { launch_clusters(6, 3, 40, block_barriers, true); });
    const Finding finding = expect_race("block_barriers: write", "block_barriers: read",
                                        [] { launch_clusters(6, 3, 40, block_barriers, false); });
    EXPECT_TRUE(says(finding, "Neither __syncthreads nor ")) << finding.text;
  });
}

TEST_F(RaceCheckCluster, WorkOfOneBlock) {
  int* const from = allocate<int>(64);
  CUDA_OK(cudaMemset(from, 0, 256));
  expect_silent([&] { launch_clusters(6, 3, 64, own_work, from, Own::nothing); });
  const Finding race = expect_race("own_work: write", "own_work: read",
                                   [&] { launch_clusters(3, 3, 64, own_work, from, Own::syncwarp); });
  EXPECT_TRUE(says(race, "Neither __syncthreads nor __syncwarp")) << race.text;
  EXPECT_EQ(race.times, 3 * 64u);
  const Finding copy = expect_one(Problem::unfinished_copy, "own_work: copy", "own_work: read of a copy",
                                  [&] { launch_clusters(3, 3, 64, own_work, from, Own::copy_wait); });
  EXPECT_EQ(copy.times, 3 * 64u);
  CUDA_OK(cudaFree(from));
}

TEST_F(RaceCheckCluster, RemoteAtomics) {
  in_orders([] {
    expect_silent([] { launch_clusters(4, 4, 33, remote_atomics, true); });
    const Finding finding = expect_race("remote_atomics: add", "remote_atomics: read",
                                        [] { launch_clusters(4, 4, 33, remote_atomics, false); });
    EXPECT_TRUE(says(finding, "An atomic orders only atomics")) << finding.text;
  });
}

TEST_F(RaceCheckCluster, ArrivalsAtMbarriersOfOtherBlocks) {
  in_orders([] {
    for (const Arrival arrival : {Arrival::release, Arrival::relaxed_after_fence})
      expect_silent([&] { launch_clusters(4, 2, 32, pass_to_block, arrival); });
    for (const Arrival arrival : {Arrival::too_early, Arrival::relaxed, Arrival::relaxed_after_block_fence})
      expect_race("pass_to_block: write", "pass_to_block: read",
                  [&] { launch_clusters(2, 2, 32, pass_to_block, arrival); });
    expect_silent([] { launch_clusters(4, 2, 32, remote_ring, true); });
    expect_race("remote_ring: write", "remote_ring: read",
                [] { launch_clusters(2, 2, 32, remote_ring, false); });
  });
}

TEST_F(RaceCheckCluster, MulticastIsWaitedForInEachBlock) {
  int* const from = allocate<int>(64);
  CUDA_OK(cudaMemset(from, 0, 256));
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    in_orders([&] {
      expect_silent([&] { launch_clusters(4, 2, 64, multicast_tile, from, Wait::own_mbarrier); });
      expect_between("multicast_tile: copy", "multicast_tile: read", "",
                     [&] { launch_clusters(2, 2, 64, multicast_tile, from, Wait::nothing); });
    });
  }
  simt::set_late_copies(false);
  const Finding finding = expect_race("multicast_tile: copy", "multicast_tile: read", [&] {
    launch_clusters(2, 2, 64, multicast_tile, from, Wait::of_the_other_block);
  });
  EXPECT_TRUE(says(finding, " of the shared memory of block (1, 0, 0):")) << finding.text;
  EXPECT_TRUE(says(finding, "has not waited for the phase of the copy's mbarrier")) << finding.text;
  EXPECT_EQ(finding.earlier->block.x, 0u);
  CUDA_OK(cudaFree(from));
}

TEST_F(RaceCheckCluster, EveryBlockMustReleaseASlotOfMulticasts) {
  int* const from = allocate<int>(16);
  CUDA_OK(cudaMemset(from, 0, 64));
  in_orders([&] {
    expect_silent([&] { launch_clusters(4, 2, 64, multicast_refill, from, true); });
    expect_between("multicast_refill: copy", "multicast_refill: read", "1, 0, 0)",
                   [&] { launch_clusters(2, 2, 64, multicast_refill, from, false); });
  });
  CUDA_OK(cudaFree(from));
}

TEST_F(RaceCheckCluster, RelaxedArrivalsReleaseTheOperandsOfProducts) {
  int* const from = allocate<int>(576);
  CUDA_OK(cudaMemset(from, 0, 2304));
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    in_orders([&] { expect_silent([&] { launch_clusters(4, 2, 128, refill_operands, from); }); });
  }
  CUDA_OK(cudaFree(from));
}

TEST_F(RaceCheckCluster, RelaxedArrivalsReleaseProductsOnly) {
  in_orders([] {
    expect_silent([] { launch_clusters(4, 2, 128, release_operand, Releases::of_all_warps); });
    const Finding finding = expect_race("operand: wgmma", "operand: write", [] {
      launch_clusters(2, 2, 128, release_operand, Releases::of_one_warp);
    });
    EXPECT_TRUE(says(finding, "Not all four warps of the warpgroup have waited")) << finding.text;
    expect_race("operand: read", "operand: write",
                [] { launch_clusters(2, 2, 128, release_operand, Releases::of_a_read); });
  });
}

TEST_F(RaceCheckCluster, OperandsThatAnotherBlockWrites) {
  expect_silent([] { launch_clusters(4, 2, 128, write_operand, Fence::of_the_writers); });
  for (const Fence fence : {Fence::of_the_other_block, Fence::none})
    expect_one(Problem::missing_proxy_fence, "operand: fill", "operand: wgmma",
               [&] { launch_clusters(2, 2, 128, write_operand, fence); });
}

TEST_F(RaceCheckCluster, BlocksMustHaveStarted) {
  in_orders([] {
    expect_silent([] { launch_clusters(4, 2, 40, before_the_start, true); });
    const Finding finding = expect_one(Problem::unstarted_block, "", "before_the_start: write",
                                       [] { launch_clusters(2, 2, 40, before_the_start, false); });
    EXPECT_TRUE(says(finding,
                     "an access before the start of the block, to byte 0 of the shared memory of "
                     "block (1, 0, 0):"))
        << finding.text;
  });
}

TEST_F(RaceCheckCluster, BlocksMustNotHaveEnded) {
  in_orders([] {
    for (const Last last : {Last::barrier, Last::awaited_arrival, Last::fence_and_arrival})
      expect_silent([&] { launch_clusters(4, 2, 40, after_the_end, last); });
    const Finding finding = expect_one(Problem::ended_block, "", "after_the_end: write",
                                       [] { launch_clusters(2, 2, 40, after_the_end, Last::nothing); });
    EXPECT_TRUE(says(finding,
                     "an access after the end of the block, to byte 0 of the shared memory of "
                     "block (1, 0, 0):"))
        << finding.text;
  });
  // In another order the arrival comes too late for the executor, too: a fault.
  expect_one(Problem::ended_block, "", "after_the_end: arrival",
             [] { launch_clusters(2, 2, 40, after_the_end, Last::arrival); });
}

TEST_F(RaceCheckCluster, AFaultIsNoFinding) {
  EXPECT_EQ(simt::start_check(), cudaSuccess);
  launch_clusters(2, 2, 1, fault_after_access);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalInstruction);
  for (const Finding& finding : simt::stop_check()) ADD_FAILURE() << finding.text;
  cudaDeviceReset();
  expect_silent([] { launch_clusters(4, 2, 40, remote_store, Between::cluster_barrier); });
}

TEST_F(RaceCheckCluster, GlobalMemory) {
  int* const values = allocate<int>(2 * 40);
  const auto race_of = [&](unsigned cluster) {
    return expect_race("write_global: write", "write_global: write",
                       [&] { launch_clusters(4, cluster, 40, write_global, values); });
  };
  EXPECT_TRUE(says(race_of(4), "Neither the barrier of the cluster nor an mbarrier"));
  EXPECT_TRUE(says(race_of(1), "no __threadfence orders these two"));
  expect_silent([&] {
    launch_clusters(1, 1, 40, write_global, values);
    launch_clusters(1, 1, 40, write_global, values);
  });
  CUDA_OK(cudaFree(values));
}

TEST_F(RaceCheckCluster, AllReadsOfOtherBlocksCount) {
  int* const word = allocate<int>(1);
  CUDA_OK(cudaMemset(word, 0, 4));
  in_orders([&] {
    for (int* const where : {word, static_cast<int*>(nullptr)})
      expect_race("read_and_write: read", "read_and_write: write",
                  [&] { launch_clusters(2, 2, 2, read_and_write, where); });
  });
  CUDA_OK(cudaFree(word));
}

TEST_F(RaceCheckCluster, FencesFollowTheBarrierOfTheCluster) {
  int* const values = allocate<int>(8 * 40 + 1);
  CUDA_OK(cudaMemset(values, 0, 4 * (8 * 40 + 1)));
  in_orders([&] {
    const auto run = [&](Missing missing) {
      CUDA_OK(cudaMemset(values + 320, 0, 4));
      launch_clusters(8, 2, 40, count_clusters, values, values + 320, missing);
    };
    expect_silent([&] { run(Missing::nothing); });
    for (const Missing missing : {Missing::barrier, Missing::fence, Missing::fence_of_the_counter})
      expect_race("count_clusters: write", "count_clusters: read", [&] { run(missing); });
  });
  CUDA_OK(cudaFree(values));
}

}  // namespace
