// The sanitizers must report defects in kernels. Each death test is a defective program and runs only in that
// sanitizer's build. The other tests show that correct programs give no report.
#include <simt/check.h>
#include <rondo/kernels/core/ptx/ldmatrix.cuh>

#include <algorithm>
#include <cstdlib>

#include "device_testing.h"

using namespace simt_test;

namespace {

struct SanitizerDeathTest : testing::Test {
  SanitizerDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

#ifdef __SANITIZE_ADDRESS__

void write_shared_at(size_t index) {
  run_ok({1, 64, 64 * sizeof(float)}, [index] {
    shared<float>(threadIdx.x) = 1;
    __syncthreads();
    if (threadIdx.x == 40) shared<float>(index) = 2;
  });
}

TEST_F(SanitizerDeathTest, AddressSanitizerDetectsTheEndOfSharedMemory) {
  write_shared_at(63);
  EXPECT_DEATH(write_shared_at(64), "AddressSanitizer: heap-buffer-overflow");
  EXPECT_DEATH(write_shared_at(static_cast<size_t>(-1)), "AddressSanitizer: heap-buffer-overflow");
}

TEST_F(SanitizerDeathTest, AddressSanitizerDetectsLocalArrays) {
  EXPECT_DEATH(run({1, 64},
                   [] {
                     int local[4] = {};
                     int* hidden = local;  // or else the undefined-behaviour sanitizer reports it first
                     asm volatile("" : "+r"(hidden));
                     __syncthreads();
                     hidden[threadIdx.x % 5] = 1;
                   }),
               "AddressSanitizer: stack-buffer-overflow");
}

TEST_F(SanitizerDeathTest, UndefinedBehaviourIsDetected) {
  EXPECT_DEATH(run({1, 64},
                   [] {
                     volatile int big = 0x7FFFFFFF;
                     big = big + static_cast<int>(threadIdx.x);
                   }),
               "signed integer overflow");
}

#endif

// The thread sanitizer, or in a build that observes kernels the executor's race detector (simt/check.h).
#if defined(__SANITIZE_THREAD__) || defined(SIMT_OBSERVE)

#ifdef SIMT_OBSERVE
constexpr int kRaceFound = simt::kExitCodeOfFindings;
constexpr const char* kRace = "unordered accesses";
struct RaceDeathTest : SanitizerDeathTest {
  RaceDeathTest() {
    simt::settings();  // of this process, which has read the environment then
    setenv("SIMT_CHECK", "1", 1);
  }
  ~RaceDeathTest() { unsetenv("SIMT_CHECK"); }
};
#else
constexpr int kRaceFound = 66;  // the thread sanitizer's exit code
constexpr const char* kRace = "data race";
using RaceDeathTest = SanitizerDeathTest;
#endif

// Every thread reads what another thread wrote, with or without a barrier in between.
void exchange(unsigned threads, bool barrier) {
  run_ok({1, threads, threads * sizeof(int)}, [=] {
    shared<int>(threadIdx.x) = static_cast<int>(threadIdx.x);
    if (barrier) __syncthreads();
    static_cast<void>(*const_cast<volatile int*>(&shared<int>((threadIdx.x + 1) % threads)));
  });
}

TEST_F(RaceDeathTest, DetectsAMissingBarrier) {
  for (const unsigned threads : {2u, 64u, 256u}) {
    exchange(threads, true);
    EXPECT_EXIT((exchange(threads, false), std::exit(0)), testing::ExitedWithCode(kRaceFound), kRace);
  }
}

// The second barrier of a loop separates the writes of the next round from the reads of this round.
void rounds(bool second_barrier) {
  run_ok({1, 64, 256}, [=] {
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
      shared<int>(threadIdx.x) = round;
      __syncthreads();
      sum += shared<int>(63 - threadIdx.x);
      if (second_barrier) __syncthreads();
    }
    EXPECT_EQ(sum, 3);
  });
}

TEST_F(RaceDeathTest, DetectsTheMissingSecondBarrier) {
  rounds(true);
  EXPECT_EXIT((rounds(false), std::exit(0)), testing::ExitedWithCode(kRaceFound), kRace);
}

void warp_exchange(bool syncwarp) {
  run_ok({1, 64, 256}, [=] {
    shared<int>(threadIdx.x) = 1;
    const unsigned lane = threadIdx.x % 32;
    const unsigned half = lane < 16 ? 0x0000FFFFu : 0xFFFF0000u;
    if (syncwarp) __syncwarp(half);
    __ballot_sync(half, 1);  // a vote does not order memory
    EXPECT_EQ(shared<int>(threadIdx.x ^ 15), 1);
  });
}

TEST_F(RaceDeathTest, DetectsAMissingSyncwarp) {
  warp_exchange(true);
  EXPECT_EXIT((warp_exchange(false), std::exit(0)), testing::ExitedWithCode(kRaceFound), kRace);
}

// Each warp loads the rows that the other one wrote.
void load_matrices(bool barrier) {
  run_ok({1, 64, 64 * 16}, [=] {
    for (unsigned i = 0; i < 8; ++i) shared<uint16_t>(threadIdx.x * 8 + i) = 1;
    if (barrier) __syncthreads();
    unsigned registers[1][4];
    rondo::ptx::ldmatrix<false>(registers, {&shared<uint16_t>((threadIdx.x ^ 32) * 8)});
    EXPECT_EQ(registers[0][3], 0x00010001u);
  });
}

TEST_F(RaceDeathTest, DetectsAMissingBarrierBeforeLdmatrix) {
  load_matrices(true);
  EXPECT_EXIT((load_matrices(false), std::exit(0)), testing::ExitedWithCode(kRaceFound), kRace);
}

#ifndef SIMT_OBSERVE  // which sees the memory of cudaMalloc: race_check.cu has these tests

// Two blocks write the same word, also if one worker runs both in sequence.
void blocks_write(bool same_word, int workers) {
  std::vector<int> words(64);
  run_parallel(workers, {2, 32}, [&] { words[(same_word ? 0 : blockIdx.x * 32) + threadIdx.x] = 1; });
}

TEST_F(RaceDeathTest, DetectsRacesOfBlocks) {
  for (const int workers : {1, 2}) {
    blocks_write(false, workers);
    EXPECT_EXIT((blocks_write(true, workers), std::exit(0)), testing::ExitedWithCode(kRaceFound), kRace);
  }
}

#endif

TEST(Sanitizer, TheLastBlockMayReadWhatAllBlocksWroteBeforeFences) {
  std::vector<int> partial(20);
  unsigned finished = 0;
  int sum = 0;
  run_parallel(2, {20, 32}, [&] {
    if (threadIdx.x != 0) return;
    partial[blockIdx.x] = static_cast<int>(blockIdx.x);
    __threadfence();
    if (atomicAdd(&finished, 1u) != gridDim.x - 1) return;
    __threadfence();
    for (const int value : partial) sum += value;
  });
  EXPECT_EQ(sum, 190);
}

#endif

TEST(Sanitizer, ABlockMayUseAThousandThreadsAndABarrier) {
  std::vector<int> result(1024);
  run_ok({1, 1024, 4096}, [&] {
    shared<int>(threadIdx.x) = 1;
    __syncthreads();
    result[threadIdx.x] = shared<int>(1023 - threadIdx.x);
  });
  EXPECT_EQ(std::count(result.begin(), result.end(), 1), 1024);
}

}  // namespace
