#include <algorithm>
#include <numeric>

#include "device_testing.h"

using namespace simt_test;

TEST(Threads, EveryThreadRunsOnceWithItsCoordinates) {
  for (const dim3 block : {dim3(1), dim3(33), dim3(1024), dim3(5, 3), dim3(4, 3, 7)}) {
    const dim3 grid(3, 2, 2);
    const unsigned threads = block.x * block.y * block.z;
    std::vector<int> seen(12 * threads);
    run_ok({grid, block}, [&] {
      ASSERT_EQ(gridDim.y, 2u);
      ASSERT_EQ(blockDim.z, block.z);
      const unsigned b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
      const unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
      ++seen[b * threads + t];
    });
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
  }
}

TEST(Threads, KeepTheirCoordinatesAcrossABarrier) {
  std::atomic<int> wrong{0};
  run_ok({2, dim3(7, 5, 3)}, [&] {
    const uint3 thread = threadIdx, block = blockIdx;
    for (int i = 0; i < 3; ++i) {
      __syncthreads();
      wrong += thread.x != threadIdx.x || thread.y != threadIdx.y || thread.z != threadIdx.z ||
               block.x != blockIdx.x;
    }
  });
  EXPECT_EQ(wrong, 0);
}

// In each round, each thread reads what the next thread wrote.
static void rotate(int rounds, int* result) {
  const unsigned n = blockDim.x, t = threadIdx.x;
  shared<int>(t) = static_cast<int>(t);
  for (int round = 0; round < rounds; ++round) {
    __syncthreads();
    const int neighbour = shared<int>((t + 1) % n);
    __syncthreads();
    shared<int>(t) = neighbour;
  }
  result[t] = shared<int>(t);
}

TEST(Barrier, OrdersSharedMemory) {
  for (const unsigned n : {1u, 2u, 31u, 32u, 100u, 1024u}) {
    std::vector<int> result(n);
    run_ok({1, n, n * sizeof(int)}, [&] { rotate(5, result.data()); });
    for (unsigned t = 0; t < n; ++t) ASSERT_EQ(result[t], static_cast<int>((t + 5) % n)) << n;
  }
}

TEST(Barrier, CorrectKernelsGiveTheSameUnderEverySeed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Seed scope(seed);
    std::vector<int> result(100);
    run_ok({1, 100, 400}, [&] { rotate(5, result.data()); });
    for (int t = 0; t < 100; ++t) ASSERT_EQ(result[t], (t + 5) % 100) << "seed " << seed;
  }
}

TEST(Barrier, SeedsChangeTheOrderAndRepeatIt) {
  if (kThreadSanitizer) GTEST_SKIP() << "the record of the order is a race itself";
  const auto order_under = [](uint64_t seed) {
    Seed scope(seed);
    std::vector<unsigned> order;
    run_ok({1, 64}, [&] {
      order.push_back(threadIdx.x);
      __syncthreads();
      order.push_back(threadIdx.x);
    });
    return order;
  };
  std::vector<unsigned> in_order(64);
  std::iota(in_order.begin(), in_order.end(), 0u);
  const auto one = order_under(1);
  EXPECT_EQ(one, order_under(1));
  EXPECT_NE(one, order_under(2));
  EXPECT_FALSE(std::equal(in_order.begin(), in_order.end(), one.begin()));    // starting
  EXPECT_FALSE(std::equal(one.begin(), one.begin() + 64, one.begin() + 64));  // waking up
}

// Without the barrier, a thread may read the other's value before or after it is written.
TEST(Barrier, AMissingBarrierIsDetectedUnderSomeSeed) {
  NOT_UNDER_CHECK();
  if (kThreadSanitizer) GTEST_SKIP() << "it would say so: see device_sanitizer.cu";
  int wrong_seeds = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Seed scope(seed);
    std::atomic<bool> wrong{false};
    run_ok({1, 64, 256}, [&] {
      shared<int>(threadIdx.x) = 1;
      if (shared<int>(63 - threadIdx.x) != 1) wrong = true;
    });
    wrong_seeds += wrong;
  }
  EXPECT_GT(wrong_seeds, 0);
}

TEST(Barrier, DoesNotWaitForThreadsThatExited) {
  std::vector<int> result(64, -1);
  run_ok({1, 64, 256}, [&] {
    const int t = static_cast<int>(threadIdx.x);
    if (t >= 40) return;
    shared<int>(threadIdx.x) = t;
    __syncthreads();
    if (t < 10) return;  // while others wait: the last of these exits completes the barrier below
    __syncthreads();
    result[threadIdx.x] = shared<int>(49 - threadIdx.x);
  });
  for (int t = 10; t < 40; ++t) EXPECT_EQ(result[t], 49 - t);
}

TEST(Barrier, IsCompletedByAThreadThatExits) {
  std::atomic<int> after{0};
  run_ok({1, 8}, [&] {
    if (threadIdx.x == 7) return;  // the last thread to run: the others already wait
    __syncthreads();
    ++after;
  });
  EXPECT_EQ(after, 7);
}

TEST(Barrier, Votes) {
  std::atomic<int> wrong{0};
  run_ok({1, 70}, [&] {
    const int t = static_cast<int>(threadIdx.x);
    for (int limit = 0; limit <= 70; limit += 7) {
      wrong += __syncthreads_count(t < limit ? 5 : 0) != limit;
      wrong += (__syncthreads_and(t < limit) != 0) != (limit == 70);
      wrong += (__syncthreads_or(t < limit) != 0) != (limit > 0);
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Barrier, VotesCountOnlyThreadsThatHaveNotExited) {
  std::atomic<int> all{0};
  run_ok({1, 70}, [&] {
    if (threadIdx.x >= 50) return;
    all += __syncthreads_and(1);
  });
  EXPECT_EQ(all, 50);
}

TEST(SharedMemory, IsAlignedPoisonedAndOfTheRequestedSize) {
  NOT_UNDER_CHECK();
  for (int repeat = 0; repeat < 3;
       ++repeat) {  // unless it is cleared, the second block finds the data of the first
    run_ok({2, 1, 1000}, [&] {
      auto* bytes = static_cast<unsigned char*>(simt::shared_memory(1000));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(bytes) % 128, 0u);
      ASSERT_TRUE(std::all_of(bytes, bytes + 1000, [](unsigned char byte) { return byte == 0xFF; }));
      std::fill(bytes, bytes + 1000, 7);
    });
  }
}

TEST(Threads, BlocksOnSeveralWorkersDoNotInterfere) {
  std::vector<int> sums(50);
  run_parallel(4, {50, 64, 256}, [&] {
    shared<int>(threadIdx.x) = static_cast<int>(blockIdx.x * threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0)
      for (int t = 0; t < 64; ++t) sums[blockIdx.x] += shared<int>(static_cast<size_t>(t));
  });
  for (int b = 0; b < 50; ++b) EXPECT_EQ(sums[b], b * 63 * 32);
}
