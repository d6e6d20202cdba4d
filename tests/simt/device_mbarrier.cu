// mbarrier: phases, parities, and the faults of programs that use it wrongly.
#include <rondo/kernels/core/ptx/mbarrier.cuh>

#include "device_testing.h"

using namespace simt_test;
namespace ptx = rondo::ptx;

namespace {

ptx::Mbarrier* barrier(int index = 0) { return &shared<ptx::Mbarrier>(index); }

void init(unsigned count, int index = 0) {
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(barrier(index), count);
    ptx::mbarrier_init_fence();
  }
  __syncthreads();
}

std::string line(int number) { return place_text("device_mbarrier.cu", number); }

TEST(Mbarrier, APhaseCompletesAfterItsArrivals) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Seed scope(seed);
    std::atomic<int> arrived{0}, wrong{0};
    run_ok({1, 64, 64}, [&] {
      init(48);
      for (int phase = 0; phase < 6; ++phase) {
        if (threadIdx.x < 48) {
          ++arrived;
          ptx::mbarrier_arrive(barrier());
        }
        ptx::mbarrier_wait(barrier(), phase & 1);
        wrong += arrived != 48 * (phase + 1);
        __syncthreads();
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(arrived, 48 * 6);
  }
}

TEST(Mbarrier, ThePhaseBeforeTheFirstHasCompleted) {
  run_ok({1, 1, 64}, [] {
    init(1);
    ptx::mbarrier_wait(barrier(), 1);
    ptx::mbarrier_arrive(barrier());
    ptx::mbarrier_wait(barrier(), 0);
  });
}

// Two barriers for each of three slots: the producer fills a slot when the consumers have released it.
TEST(Mbarrier, ProducerAndConsumers) {
  constexpr int kSlots = 3, kSteps = 20;
  struct Shared {
    ptx::Mbarrier full[kSlots], empty[kSlots];
    int value[kSlots];
  };
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Seed scope(seed);
    std::vector<int> sums(64);
    run_ok({1, 65, sizeof(Shared)}, [&] {
      Shared& s = shared<Shared>();
      if (threadIdx.x == 0)
        for (int i = 0; i < kSlots; ++i) {
          ptx::mbarrier_init(&s.full[i], 1);
          ptx::mbarrier_init(&s.empty[i], 64);
        }
      __syncthreads();
      for (int step = 0; step < kSteps; ++step) {
        const int slot = step % kSlots, parity = step / kSlots & 1;
        if (threadIdx.x == 64) {
          ptx::mbarrier_wait(&s.empty[slot], parity ^ 1);
          s.value[slot] = step;
          ptx::mbarrier_arrive(&s.full[slot]);
        } else {
          ptx::mbarrier_wait(&s.full[slot], parity);
          sums[threadIdx.x] += s.value[slot];
          ptx::mbarrier_arrive(&s.empty[slot]);
        }
      }
    });
    for (const int sum : sums) ASSERT_EQ(sum, kSteps * (kSteps - 1) / 2);
  }
}

TEST(Mbarrier, AMissingArrivalIsNamed) {
  NOT_UNDER_CHECK();
  const int wait_line = __LINE__ + 4;
  const simt::Fault fault = run({1, 64, 64}, [&] {
    init(2, 1);
    if (threadIdx.x == 0) ptx::mbarrier_arrive(barrier(1));
    if (threadIdx.x >= 32) ptx::mbarrier_wait(barrier(1), 0);
  });
  expect_fault(fault, {"deadlock",
                       "Threads 32-63 wait for the mbarrier at byte 8 of shared memory (parity 0, 1 of 2 "
                       "arrivals and 0 bytes are missing) at ",
                       line(wait_line), "32 of 64 have exited"});
}

TEST(Mbarrier, AWrongParityIsNamed) {
  NOT_UNDER_CHECK();
  const int wait_line = __LINE__ + 5;
  const simt::Fault fault = run({1, 32, 64}, [&] {
    init(32);
    ptx::mbarrier_arrive(barrier());
    ptx::mbarrier_wait(barrier(), 0);
    ptx::mbarrier_wait(barrier(), 1);  // of the phase that has just begun
  });
  expect_fault(fault, {"Threads 0-31 wait for", "(parity 1, 32 of 32 arrivals and 0 bytes are missing)",
                       line(wait_line)});
}

TEST(Mbarrier, ExpectedBytesThatNobodyCopiesAreNamed) {
  NOT_UNDER_CHECK();
  const simt::Fault fault = run({1, 32, 64}, [&] {
    init(1);
    if (threadIdx.x == 0) ptx::mbarrier_arrive_expect_tx(barrier(), 512);
    ptx::mbarrier_wait(barrier(), 0);
  });
  expect_fault(fault, {"Threads 0-31 wait for", "0 of 1 arrivals and 512 bytes are missing"});
}

TEST(Mbarrier, TwoKindsOfWaitingAreBothNamed) {
  NOT_UNDER_CHECK();
  const simt::Fault fault = run({1, 64, 64}, [&] {
    init(1);
    if (threadIdx.x < 32) ptx::mbarrier_wait(barrier(), 0);
    __syncthreads();
    if (threadIdx.x == 32) ptx::mbarrier_arrive(barrier());
  });
  expect_fault(fault, {"wait for the mbarrier at byte 0", "hreads 32-63 wait at the barrier"});
}

TEST(Mbarrier, MisuseIsAFault) {
  NOT_UNDER_CHECK();
  expect_fault(run({1, 1, 64}, [] { ptx::mbarrier_arrive(barrier(2)); }),
               {"mbarrier.arrive at ", line(__LINE__ - 1), "byte 16 of shared memory is not initialized"});
  expect_fault(run({1, 1, 64},
                   [] {
                     shared<uint64_t>() = 0;
                     ptx::mbarrier_wait(barrier(), 0);
                   }),
               {"mbarrier.try_wait.parity at ", "is not initialized"});
  expect_fault(run({1, 1, 64}, [] { ptx::mbarrier_init(barrier(), 0); }), {"cannot have a count of 0"});
  expect_fault(run({1, 1, 64}, [] { ptx::mbarrier_init(barrier(), 1 << 20); }),
               {"cannot have a count of 1048576"});
  expect_fault(run({1, 1, 64}, [] { ptx::mbarrier_init(barrier(8), 1); }),
               {"not all in the block's shared memory"}, cudaErrorIllegalAddress);
  expect_fault(
      run({1, 1, 64}, [] { ptx::mbarrier_init(reinterpret_cast<ptx::Mbarrier*>(&shared<int>(1)), 1); }),
      {"byte 4 of shared memory, is not a multiple of 8"}, cudaErrorMisalignedAddress);
  expect_fault(run({1, 1, 64},
                   [] {
                     init(1);
                     ptx::mbarrier_wait(barrier(), 2);
                   }),
               {"has no phase of parity 2"});
  expect_fault(run({1, 1, 64},
                   [] {
                     init(1);
                     ptx::mbarrier_arrive_expect_tx(barrier(), 1 << 20);
                   }),
               {"would have a tx-count of 1048576"});
  expect_fault(run({1, 1, 64},
                   [] {
                     init(1);
                     ptx::mbarrier_arrive_expect_tx(barrier(), 16);
                     ptx::mbarrier_arrive(barrier());
                   }),
               {"has all arrivals of its phase", "16 bytes are missing"});
  expect_fault(run({1, 1, 64},
                   [] {
                     init(1);
                     ptx::mbarrier_init(barrier(), 1);
                   }),
               {"mbarrier.init at ", "is initialized already and not invalidated (parity 0"});
  expect_fault(run({1, 1, 64},
                   [] {
                     init(2);
                     ptx::mbarrier_arrive(barrier());
                     ptx::mbarrier_invalidate(barrier());
                   }),
               {"mbarrier.inval at ", "is in the middle of a phase (parity 0, 1 of 2"});
  run_ok({1, 1, 64}, [] {
    init(1);
    ptx::mbarrier_invalidate(barrier());
    init(1);
  });
}

// The worker runs more blocks after one that was given up.
TEST(Mbarrier, NothingOfAFailedBlockRemains) {
  NOT_UNDER_CHECK();
  run({1, 32, 64}, [] {
    init(1);
    ptx::mbarrier_wait(barrier(), 0);
  });
  run_ok({4, 32, 64}, [] {
    init(1);
    if (threadIdx.x == 31) ptx::mbarrier_arrive(barrier());
    ptx::mbarrier_wait(barrier(), 0);
  });
}

}  // namespace
