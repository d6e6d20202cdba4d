#include <bit>

#include "device_testing.h"

using namespace simt_test;

namespace {

constexpr unsigned kAll = 0xFFFFFFFFu;

template <class T>
void shuffles() {
  std::atomic<int> wrong{0};
  run_ok({1, 64}, [&] {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const auto value = [](int l) { return static_cast<T>(l * 3 + 1); };
    for (const int width : {2, 4, 8, 16, 32}) {
      const int begin = lane / width * width;
      for (const int source : {0, 1, 5, 31, 37, -1}) {
        const T got = __shfl_sync(kAll, value(lane), source, width);
        wrong += got != value(begin + (source & (width - 1)));
      }
      for (const unsigned delta : {0u, 1u, 3u, 16u, 31u}) {
        const int d = static_cast<int>(delta);
        const T up = __shfl_up_sync(kAll, value(lane), delta, width);
        wrong += up != value(lane - d >= begin ? lane - d : lane);
        const T down = __shfl_down_sync(kAll, value(lane), delta, width);
        wrong += down != value(lane + d < begin + width ? lane + d : lane);
        const T other = __shfl_xor_sync(kAll, value(lane), d, width);
        wrong += other != value((lane ^ d) < begin + width ? lane ^ d : lane);
      }
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Warp, ShufflesOfEveryType) {
  shuffles<int>();
  shuffles<unsigned>();
  shuffles<float>();
  shuffles<double>();
  shuffles<long long>();
  shuffles<unsigned long long>();
}

TEST(Warp, ShufflesUnderEverySeed) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Seed scope(seed);
    shuffles<float>();
  }
}

TEST(Warp, ReductionByShuffles) {
  std::vector<int> sums(96);
  run_ok({1, 96}, [&] {
    int value = static_cast<int>(threadIdx.x);
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(kAll, value, offset);
    sums[threadIdx.x] = value;
  });
  for (int t = 0; t < 96; ++t) EXPECT_EQ(sums[t], t / 32 * 1024 + 496);
}

TEST(Warp, DivergedGroupsOfOneWarpDoNotInterfere) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Seed scope(seed);
    std::atomic<int> wrong{0};
    run_ok({1, 32}, [&] {
      const unsigned lane = threadIdx.x;
      const unsigned part = lane % 3;
      unsigned mask = 0;
      for (unsigned l = part; l < 32; l += 3) mask |= 1u << l;
      for (unsigned round = 0; round <= part * 4; ++round) {  // a different number of shuffles in each group
        const int got = __shfl_sync(mask, static_cast<int>(lane + 100 * round), static_cast<int>(part + 9));
        wrong += got != static_cast<int>(part + 9 + 100 * round);
      }
      __syncwarp();
      wrong += __ballot_sync(kAll, part == 1) != 0x92492492u;
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Warp, VotesAndMatches) {
  std::atomic<int> wrong{0};
  run_ok({1, 32}, [&] {
    const unsigned lane = threadIdx.x;
    wrong += __ballot_sync(kAll, lane % 4 == 0) != 0x11111111u;
    wrong += __any_sync(kAll, lane == 7) != 1;
    wrong += __any_sync(kAll, 0) != 0;
    wrong += __all_sync(kAll, lane != 7) != 0;
    wrong += __all_sync(kAll, 2) != 1;
    wrong += __match_any_sync(kAll, lane / 8) != 0xFFu << lane / 8 * 8;
    wrong += __match_any_sync(kAll, static_cast<double>(lane % 2)) != (lane % 2 ? 0xAAAAAAAAu : 0x55555555u);
    if (lane >= 8 && lane < 12) {
      wrong += __ballot_sync(0x00000F00u, lane != 9) != 0x00000D00u;
      wrong += __all_sync(0x00000F00u, lane < 12) != 1;
    }
    wrong += std::popcount(__activemask()) < 1 || !(__activemask() >> lane & 1);
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Warp, Reductions) {
  std::atomic<int> wrong{0};
  run_ok({1, 32}, [&] {
    const int lane = static_cast<int>(threadIdx.x);
    wrong += __reduce_add_sync(kAll, lane) != 496;
    wrong += __reduce_add_sync(kAll, static_cast<unsigned>(lane) << 28) != 0u;
    wrong += __reduce_min_sync(kAll, lane - 10) != -10;
    wrong += __reduce_max_sync(kAll, -lane) != 0;
    wrong += __reduce_min_sync(kAll, static_cast<unsigned>(lane + 3)) != 3u;
    wrong += __reduce_max_sync(kAll, static_cast<unsigned>(-lane)) != 0xFFFFFFFFu;
    wrong += __reduce_or_sync(kAll, 1u << lane) != kAll;
    wrong += __reduce_and_sync(kAll, ~(1u << lane)) != 0u;
    wrong += __reduce_xor_sync(kAll, static_cast<unsigned>(lane)) != 0u;
    wrong += __reduce_add_sync(lane < 5 ? 0x1Fu : ~0x1Fu, 1) != (lane < 5 ? 5 : 27);
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Warp, DoesNotWaitForLanesThatExited) {
  std::atomic<int> wrong{0}, finished{0};
  run_ok({1, 40}, [&] {  // the second warp has eight lanes
    const unsigned lane = threadIdx.x % 32;
    if (lane % 2 == 1) return;
    const unsigned present = threadIdx.x < 32 ? 0x55555555u : 0x55u;
    wrong += __ballot_sync(kAll, 1) != present;
    wrong += __shfl_sync(kAll, static_cast<int>(lane), 4) != 4;
    wrong += __shfl_xor_sync(kAll, 1.0f, 1) == 1.0f;  // from a lane that exited: NaN
    wrong += __reduce_add_sync(kAll, 1) != std::popcount(present);
    ++finished;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(finished, 20);
}

TEST(Warp, IsCompletedByALaneThatExits) {
  std::atomic<int> finished{0};
  run_ok({1, 32}, [&] {
    if (threadIdx.x == 31) return;
    __syncwarp();
    ++finished;
  });
  EXPECT_EQ(finished, 31);
}

TEST(Warp, SyncwarpOrdersSharedMemory) {
  std::atomic<int> wrong{0};
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Seed scope(seed);
    run_ok({1, 64, 256}, [&] {
      const size_t t = threadIdx.x;
      for (int round = 0; round < 4; ++round) {
        shared<int>(t) = round;
        __syncwarp();
        wrong += shared<int>(t ^ 31) != round;
        __syncwarp();
      }
    });
  }
  EXPECT_EQ(wrong, 0);
}

struct Factor {
  int value;
  int product;
};

__attribute__((no_sanitize("thread"))) void multiply(void* const* records, unsigned present) {
  int product = 1;
  for (unsigned l = 0; l < 32; ++l)
    if (present >> l & 1) product *= static_cast<Factor*>(records[l])->value;
  for (unsigned l = 0; l < 32; ++l)
    if (present >> l & 1) static_cast<Factor*>(records[l])->product = product;
}

TEST(Warp, CustomCollective) {
  static constexpr simt::WarpOperation kProduct = {"product", multiply};
  std::atomic<int> wrong{0};
  run_ok({1, 32}, [&] {
    Factor factor{threadIdx.x < 10 ? 2 : 1, 0};
    simt::warp_collective(kAll, kProduct, &factor, simt::Place::current());
    wrong += factor.product != 1024;
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
