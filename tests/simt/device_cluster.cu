// Clusters: ranks, the barrier of the cluster, shared memory of other blocks, loads to several blocks.
// The blocks run on one thread here; host_launch.cu has the launches.
#include <rondo/kernels/core/tensor_map.h>
#include <rondo/kernels/core/ptx/cluster.cuh>

#include <numeric>

#include "device_testing.h"

using namespace simt_test;
namespace ptx = rondo::ptx;

namespace {

constexpr size_t kDataAt = 1024;

ptx::Mbarrier* barrier() { return &shared<ptx::Mbarrier>(); }
int* data() { return reinterpret_cast<int*>(&shared<char>(kDataAt)); }
std::string line(int number) { return place_text("device_cluster.cu", number); }

struct ClusterShape {
  dim3 grid, cluster;
  unsigned threads = 32;
};

simt::Fault run_clusters(const ClusterShape& shape, std::function<void()> body) {
  ThreadCount threads;
  simt::Kernel kernel = make_kernel({shape.grid, shape.threads, 4096}, threads.counting(std::move(body)));
  kernel.cluster = shape.cluster;
  simt::Fault fault;
  const uint64_t clusters = block_count(kernel) / (shape.cluster.x * shape.cluster.y * shape.cluster.z);
  for (uint64_t c = 0; c < clusters && fault.error == cudaSuccess; ++c) fault = run_cluster(kernel, c);
  join_blocks(kernel);
  if (fault.error == cudaSuccess) threads.expect_all(kernel);
  return fault;
}

void run_clusters_ok(const ClusterShape& shape, std::function<void()> body) {
  const simt::Fault fault = run_clusters(shape, std::move(body));
  ASSERT_EQ(fault.error, cudaSuccess) << fault.message;
}

void expect_fault(const ClusterShape& shape, const std::vector<std::string>& parts,
                  std::function<void()> body) {
  const simt::Fault fault = run_clusters(shape, std::move(body));
  EXPECT_NE(fault.error, cudaSuccess);
  for (const std::string& part : parts)
    EXPECT_NE(fault.message.find(part), std::string::npos) << "\"" << part << "\" is not in:\n"
                                                           << fault.message;
  // What a faulty cluster leaves behind does not reach the next one.
  run_clusters_ok({2, 2}, [] { ptx::cluster_sync(); });
}

// One thread initializes, and the cluster learns of it.
void init(unsigned count) {
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(barrier(), count);
    ptx::mbarrier_init_fence();
  }
  ptx::cluster_sync();
}

TEST(Cluster, RanksGoAlongXFirst) {
  const dim3 grid(4, 6, 3), cluster(2, 3, 1);
  std::vector<int> seen(4 * 6 * 3, -1);
  run_clusters_ok({grid, cluster, 1}, [&] {
    ASSERT_EQ(ptx::cluster_size(), 6u);
    ASSERT_EQ(ptx::cluster_rank(), blockIdx.x % 2 + 2 * (blockIdx.y % 3));
    int& block = seen[blockIdx.x + 4 * (blockIdx.y + 6 * blockIdx.z)];
    ASSERT_EQ(block, -1);
    block = static_cast<int>(gridDim.x);
  });
  EXPECT_EQ(seen, std::vector<int>(seen.size(), 4));
}

TEST(Cluster, ABlockAloneIsOneOfItsOwn) {
  run_ok({3, 64, 4096}, [] {
    ASSERT_EQ(ptx::cluster_size(), 1u);
    ASSERT_EQ(ptx::cluster_rank(), 0u);
    data()[threadIdx.x] = static_cast<int>(threadIdx.x);
    ptx::cluster_sync();
    ASSERT_EQ(ptx::cluster_map(data(), 0)[63 - threadIdx.x], static_cast<int>(63 - threadIdx.x));
  });
}

// Each block adds what the block after it has written, for many rounds.
TEST(Cluster, BlocksReadTheSharedMemoryOfOthers) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Seed scope(seed);
    for (const unsigned blocks : {2u, 3u, 8u}) {
      std::vector<int> sums(2 * blocks * 40);
      run_clusters_ok({2 * blocks, blocks, 40}, [&] {
        const unsigned rank = ptx::cluster_rank(), t = threadIdx.x;
        const int* const next = ptx::cluster_map(data(), (rank + 1) % blocks);
        int sum = 0;
        for (int round = 0; round < 5; ++round) {
          data()[t] = round * 1000 + static_cast<int>(rank * 40 + t);
          ptx::cluster_sync();
          sum += next[39 - t];
          ptx::cluster_sync();
        }
        sums[blockIdx.x * 40 + t] = sum;
      });
      for (unsigned block = 0; block < 2 * blocks; ++block)
        for (unsigned t = 0; t < 40; ++t)
          ASSERT_EQ(sums[block * 40 + t], static_cast<int>(10000 + 5 * ((block + 1) % blocks * 40 + 39 - t)))
              << "seed " << seed << ", block " << block << " of clusters of " << blocks;
    }
  }
}

TEST(Cluster, WritesAreSeenAfterTheWaitOnly) {
  NOT_UNDER_CHECK();
  if (kThreadSanitizer) GTEST_SKIP() << "it reads what another block writes, on purpose";
  std::atomic<int> early{0};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Seed scope(seed);
    run_clusters_ok({2, 2, 32}, [&] {
      data()[threadIdx.x] = 0;
      ptx::cluster_sync();
      int* const other = ptx::cluster_map(data(), 1 - ptx::cluster_rank());
      other[threadIdx.x] = 1;
      ptx::cluster_arrive();
      early += data()[threadIdx.x] == 0;
      ptx::cluster_wait();
      ASSERT_EQ(data()[threadIdx.x], 1);
    });
  }
  EXPECT_GT(early, 0);
}

// Warps that have exited are not waited for, whether they exit before or after the others arrive.
TEST(Cluster, ThreadsThatExitAreNotWaitedFor) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Seed scope(seed);
    std::atomic<int> passed{0};
    run_clusters_ok({4, 4, 96}, [&] {
      if (threadIdx.x / 32 == ptx::cluster_rank() % 3) return;
      if (threadIdx.x == (ptx::cluster_rank() + 1) % 3 * 32) *data() = 0;
      ptx::cluster_sync();
      if (threadIdx.x % 32 == 5) {
        ptx::cluster_arrive();
        return;  // arrived, and does not wait
      }
      atomicAdd(ptx::cluster_map(data(), 0), 1);
      ptx::cluster_sync();
      passed += *ptx::cluster_map(data(), 0) == 4 * 2 * 31;
      ptx::cluster_sync();  // all have read
    });
    EXPECT_EQ(passed, 4 * 2 * 31);
  }
}

// Warps of all blocks arrive at a barrier of block 0, which hands out the next round through their barriers.
TEST(Cluster, ArrivalsAtTheBarriersOfOthers) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Seed scope(seed);
    constexpr unsigned kBlocks = 4;
    int rounds = 0;
    run_clusters_ok({kBlocks, kBlocks, 64}, [&] {
      const unsigned rank = ptx::cluster_rank();
      init(rank == 0 ? 2 * kBlocks : 1);
      for (unsigned round = 0; round < 6; ++round) {
        if (rank != 0) {
          if (threadIdx.x % 32 == 0) ptx::cluster_arrive_at(barrier(), 0);
          ptx::cluster_mbarrier_wait(barrier(), round & 1);
        } else {
          if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(barrier());
          ptx::cluster_mbarrier_wait(barrier(), round & 1);
          if (threadIdx.x == 0) {
            ++rounds;
            for (unsigned other = 1; other < kBlocks; ++other) ptx::cluster_arrive_at(barrier(), other);
          }
        }
      }
      ptx::cluster_sync();
    });
    EXPECT_EQ(rounds, 6);
  }
}

// Each block loads its part of a row for all; all of them wait for the bytes of all parts.
void multicast_rows(unsigned blocks, bool tensor) {
  constexpr int kPart = 64, kRounds = 4;
  const int row = kPart * static_cast<int>(blocks);
  std::vector<int> source(static_cast<size_t>(row) * kRounds);
  std::iota(source.begin(), source.end(), 1);
  CUtensorMap map = {};
  ASSERT_TRUE(rondo::make_tensor_map(&map, {.data = source.data(),
                                            .dtype = rondo::DType::int32,
                                            .rank = 2,
                                            .size = {row, kRounds},
                                            .stride = {0, row * 4},
                                            .box = {kPart, 1}})
                  .ok());
  const auto all = static_cast<uint16_t>((1u << blocks) - 1);
  std::atomic<int> wrong{0};
  run_clusters_ok({blocks, blocks, 32}, [&] {
    const int rank = static_cast<int>(ptx::cluster_rank());
    init(1);
    for (int round = 0; round < kRounds; ++round) {
      if (threadIdx.x == 0) {
        ptx::mbarrier_arrive_expect_tx(barrier(), static_cast<unsigned>(row) * 4);
        int* const to = data() + rank * kPart;
        if (tensor)
          ptx::tma_load_multicast(to, map, {rank * kPart, round}, barrier(), all);
        else
          ptx::bulk_load_multicast(to, source.data() + round * row + rank * kPart, kPart * 4, barrier(), all);
      }
      ptx::mbarrier_wait(barrier(), static_cast<unsigned>(round) & 1);
      for (int i = static_cast<int>(threadIdx.x); i < row; i += 32) wrong += data()[i] != round * row + i + 1;
      ptx::cluster_sync();  // all have read
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Cluster, LoadsToSeveralBlocks) {
  for (const bool late : {false, true})
    for (uint64_t seed = 0; seed < 6; ++seed) {
      Seed scope(seed);
      simt::set_late_copies(late);
      for (const unsigned blocks : {2u, 4u})
        for (const bool tensor : {false, true}) multicast_rows(blocks, tensor);
      simt::set_late_copies(false);
    }
}

TEST(Cluster, ALoadReachesTheNamedBlocksOnly) {
  std::vector<int> source(64, 7);
  std::vector<int> got(4);
  run_clusters_ok({4, 4, 1}, [&] {
    const unsigned rank = ptx::cluster_rank();
    init(1);
    data()[0] = -1;
    ptx::cluster_sync();
    if (rank == 1) ptx::bulk_load_multicast(data(), source.data(), 256, barrier(), 0b1010);
    if (rank % 2 == 1) {
      ptx::mbarrier_arrive_expect_tx(barrier(), 256);
      ptx::mbarrier_wait(barrier(), 0);
    }
    ptx::cluster_sync();
    got[rank] = data()[0];
  });
  EXPECT_EQ(got, (std::vector<int>{-1, 7, -1, 7}));
}

// Until a wait succeeds, the destination is poison in all blocks.
TEST(Cluster, LateLoadsArriveWithTheWaitOfEachBlock) {
  NOT_UNDER_CHECK();
  simt::set_late_copies(true);
  std::vector<int> source(64, 7);
  std::vector<int> before(2), after(2);
  run_clusters_ok({2, 2, 1}, [&] {
    const unsigned rank = ptx::cluster_rank();
    init(1);
    if (rank == 0) ptx::bulk_load_multicast(data(), source.data(), 256, barrier(), 0b11);
    ptx::cluster_sync();
    before[rank] = data()[0];
    ptx::mbarrier_arrive_expect_tx(barrier(), 256);
    ptx::mbarrier_wait(barrier(), 0);
    after[rank] = data()[0];
    ptx::cluster_sync();
  });
  simt::set_late_copies(false);
  EXPECT_EQ(before, std::vector<int>(2, -1));
  EXPECT_EQ(after, std::vector<int>(2, 7));
}

// Programs that are wrong on purpose.

TEST(ClusterFault, AnUndeclaredCluster) {
  NOT_UNDER_CHECK();
  const int at = __LINE__ + 3;
  expect_fault({1, 1},
               {"mapa at", line(at), "names block 1 of a cluster of 1; the launch declares no larger one"},
               [] { ptx::cluster_map(data(), 1)[threadIdx.x] = 1; });
}

TEST(ClusterFault, ABlockBeyondTheCluster) {
  NOT_UNDER_CHECK();
  const int at = __LINE__ + 4;
  std::vector<int> source(64);
  expect_fault({2, 2, 1}, {"multicast::cluster at ", line(at), " names block 2 of a cluster of 2"}, [&] {
    init(1);
    ptx::bulk_load_multicast(data(), source.data(), 256, barrier(), 0b101);
  });
}

TEST(ClusterFault, ABlockThatHasEnded) {
  NOT_UNDER_CHECK();
  expect_fault({2, 2, 1}, {"names block 1 of a cluster of 2, which has ended: its shared memory is gone"},
               [] {
                 init(1);
                 if (ptx::cluster_rank() == 0) ptx::cluster_arrive_at(barrier(), 1);
               });
}

TEST(ClusterFault, ArrivingTwice) {
  NOT_UNDER_CHECK();
  const int at = __LINE__ + 3;
  expect_fault({2, 2}, {"barrier.cluster.arrive at ", line(at), ": the thread has arrived"}, [] {
    ptx::cluster_arrive();
    ptx::cluster_arrive();
  });
}

TEST(ClusterFault, WaitingWithoutArriving) {
  NOT_UNDER_CHECK();
  const int at = __LINE__ + 2;
  expect_fault({2, 2}, {"barrier.cluster.wait at ", line(at), ": the thread has not arrived"},
               [] { ptx::cluster_wait(); });
}

// One block never passes the barrier: the message says where the threads of each block wait.
TEST(ClusterFault, BlocksThatWaitForEachOther) {
  NOT_UNDER_CHECK();
  const int at = __LINE__ + 4;
  const auto body = [] {
    init(1);
    if (ptx::cluster_rank() == 1)
      ptx::mbarrier_wait(barrier(), 0);
    else
      ptx::cluster_sync();
  };
  expect_fault(
      {2, 2},
      {"deadlock: no thread of the cluster can go on. Block (0, 0, 0): ",
       "wait at the barrier of the cluster, ", line(at + 2), "Block (1, 0, 0): ",
       "wait for the mbarrier at byte 0 of shared memory (parity 0, 1 of 1 arrivals and 0 bytes are missing)",
       line(at)},
      body);
}

// Both blocks are sent the bytes, and one of them expects none.
TEST(ClusterFault, BytesThatABlockDoesNotExpect) {
  NOT_UNDER_CHECK();
  std::vector<int> source(64);
  expect_fault({2, 2, 1}, {"256 bytes more than expected were copied"}, [&] {
    init(1);
    const bool loads = ptx::cluster_rank() == 1;
    if (loads) ptx::bulk_load_multicast(data(), source.data(), 256, barrier(), 0b11);
    ptx::mbarrier_arrive_expect_tx(barrier(), loads ? 256 : 0);
    ptx::mbarrier_wait(barrier(), 0);
    ptx::cluster_sync();
  });
}

// A fault of one block ends the others, wherever they wait.
TEST(ClusterFault, OfOneBlockEndsAll) {
  NOT_UNDER_CHECK();
  expect_fault({4, 4}, {"block (2, 0, 0)"}, [] {
    if (ptx::cluster_rank() == 2 && threadIdx.x == 3) __trap();
    ptx::cluster_sync();
  });
}

}  // namespace
