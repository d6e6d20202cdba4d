#include <cuda_pipeline.h>

#include <cmath>
#include <numeric>

#include "device_testing.h"

using namespace simt_test;

namespace {

std::vector<float> counting(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

// Copies tile after tile: the next tile is copied while the current one is summed.
void pipeline(const float* from, int tiles, float* sum, bool waits) {
  const int t = static_cast<int>(threadIdx.x);
  const auto start = [&](int tile) {
    if (tile < tiles) simt::async_copy<16>(&shared<float>(tile % 2 * 128 + t * 4), from + tile * 128 + t * 4);
    simt::async_commit();
  };
  float total = 0;
  start(0);
  for (int tile = 0; tile < tiles; ++tile) {
    start(tile + 1);
    if (waits) simt::async_wait(1);
    __syncthreads();
    for (int i = 0; i < 4; ++i) total += shared<float>(tile % 2 * 128 + (31 - t) * 4 + i);
    __syncthreads();
  }
  sum[t] = total;
}

float piped_total(bool waits) {
  const std::vector<float> from = counting(5 * 128);
  std::vector<float> sums(32);
  run_ok({1, 32, 256 * sizeof(float)}, [&] { pipeline(from.data(), 5, sums.data(), waits); });
  return std::accumulate(sums.begin(), sums.end(), 0.0f);
}

constexpr float kTotal = 640 * 641 / 2;

TEST(AsyncCopy, PipelineIsRightInBothModes) {
  EXPECT_EQ(piped_total(true), kTotal);
  LateCopies late;
  EXPECT_EQ(piped_total(true), kTotal);
}

TEST(AsyncCopy, AMissingWaitShowsInLateMode) {
  NOT_UNDER_CHECK();
  EXPECT_EQ(piped_total(false), kTotal);  // not detected
  LateCopies late;
  EXPECT_TRUE(std::isnan(piped_total(false)));
}

TEST(AsyncCopy, GroupsCompleteInOrder) {
  NOT_UNDER_CHECK();
  LateCopies late;
  const std::vector<float> from = counting(4);
  run_ok({1, 2, 8 * sizeof(float)}, [&] {
    float* to = &shared<float>(threadIdx.x * 4);
    const auto done = [&] {
      int count = 0;
      while (count < 4 && to[count] == from[count]) ++count;
      return count;
    };
    for (int i = 0; i < 2; ++i) {
      simt::async_copy<4>(to + i, &from[i]);
      simt::async_commit();
    }
    simt::async_commit();  // an empty group counts as well
    simt::async_copy<8>(to + 2, &from[2]);
    EXPECT_EQ(done(), 0);
    simt::async_wait(3);
    EXPECT_EQ(done(), 0);
    simt::async_wait(2);
    EXPECT_EQ(done(), 1);
    simt::async_wait(1);
    EXPECT_EQ(done(), 2);
    simt::async_wait(0);
    EXPECT_EQ(done(), 2);  // the last copy is not in a group yet
    simt::async_commit();
    simt::async_wait(0);
    EXPECT_EQ(done(), 4);
  });
}

TEST(AsyncCopy, InvalidSourcesAreZerosAndNotRead) {
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    run_ok({1, 1, 16}, [] {
      simt::async_copy<16>(simt::shared_memory(), nullptr, false);
      simt::async_commit();
      simt::async_wait(0);
      for (int i = 0; i < 4; ++i) EXPECT_EQ(shared<float>(i), 0.0f);
    });
  }
  simt::set_late_copies(false);
}

TEST(AsyncCopy, MisalignedAddressesAreFaults) {
  const std::vector<float> from = counting(8);
  const simt::Fault fault = run({1, 1, 64}, [&] { simt::async_copy<16>(&shared<float>(5), from.data()); });
  EXPECT_EQ(fault.error, cudaErrorMisalignedAddress);
  EXPECT_NE(fault.message.find("the destination is 4 bytes past"), std::string::npos) << fault.message;
}

TEST(AsyncCopy, AThreadDoesNotInheritTheCopiesOfAnother) {
  NOT_UNDER_CHECK();
  LateCopies late;
  const std::vector<float> from = counting(4);
  run_ok({3, 4, 64}, [&] {  // these threads share a stack, one after the other
    simt::async_copy<16>(&shared<float>(threadIdx.x * 4), from.data());
    simt::async_commit();
    if (threadIdx.x % 2) simt::async_wait(0);
    EXPECT_EQ(shared<float>(threadIdx.x * 4) == 1.0f, threadIdx.x % 2 == 1);
  });
}

// All sizes, with all numbers of zeros at the end.
TEST(AsyncCopy, PipelinePrimitivesCopyAndFill) {
  NOT_UNDER_CHECK();
  alignas(16) const unsigned char from[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    for (const size_t bytes : {4, 8, 16}) {
      for (size_t zeros = 0; zeros <= bytes; ++zeros) {
        run_ok({1, 1, 16}, [&] {
          __pipeline_memcpy_async(simt::shared_memory(), from, bytes, zeros);
          __pipeline_commit();
          __pipeline_wait_prior(0);
          for (size_t i = 0; i < bytes; ++i)
            EXPECT_EQ(shared<unsigned char>(static_cast<int>(i)), i < bytes - zeros ? from[i] : 0)
                << bytes << " bytes, " << zeros << " zeros, byte " << i;
        });
      }
    }
  }
  simt::set_late_copies(false);
}

TEST(AsyncCopy, PipelineWaitsForAllButTheNewestGroups) {
  NOT_UNDER_CHECK();
  LateCopies late;
  const std::vector<float> from = counting(8);
  run_ok({1, 1, 32}, [&] {
    for (int i = 0; i < 2; ++i) {
      __pipeline_memcpy_async(&shared<float>(4 * i), &from[static_cast<size_t>(4 * i)], 16);
      __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    EXPECT_EQ(shared<float>(3), 4.0f);
    EXPECT_TRUE(std::isnan(shared<float>(4)));
    __pipeline_wait_prior(0);
    EXPECT_EQ(shared<float>(7), 8.0f);
  });
}

}  // namespace
