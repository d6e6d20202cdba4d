// Defective kernels: each must end with a report of its defect, and the executor must be able to run the next
// kernel.
#undef NDEBUG  // assert() is one of the tested failures
#include <sys/mman.h>

#include <cassert>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

#include "device_testing.h"

using namespace simt_test;

namespace {

void expect_fault(const simt::Fault& fault, cudaError_t error, std::initializer_list<std::string> parts) {
  EXPECT_EQ(fault.error, error) << fault.message;
  for (const std::string& part : parts)
    EXPECT_NE(fault.message.find(part), std::string::npos) << "'" << part << "' is not in: " << fault.message;
  std::atomic<int> runs{0};
  run_ok({1, 64}, [&] {
    __syncthreads();
    __syncwarp();
    ++runs;
  });
  EXPECT_EQ(runs, 64);
}

TEST(Fault, DivergentBarrier) {
  const int line = __LINE__ + 1;
  const simt::Fault fault = run({2, 64}, [] {
    if (threadIdx.x < 32)
      __syncthreads();
    else
      __syncthreads();
  });
  expect_fault(
      fault, cudaErrorLaunchFailure,
      {"test_kernel", "block (0, 0, 0)", "divergent barrier", "device_fault.cu:" + std::to_string(line + 2),
       "device_fault.cu:" + std::to_string(line + 4), "Threads 0-31 wait"});
}

TEST(Fault, DeadlockOfBarrierAndWarp) {
  const simt::Fault fault = run({1, 64}, [] {
    if (threadIdx.x < 16)
      __syncwarp();
    else if (threadIdx.x < 40)
      __syncthreads();
  });
  expect_fault(fault, cudaErrorLaunchFailure,
               {"deadlock", "threads 0-15 wait in __syncwarp of lanes 0xffffffff",
                "Threads 16-39 wait at the barrier", "24 of 64 have exited"});
}

TEST(Fault, BarrierThatSomeWarpsNeverReach) {
  const simt::Fault fault = run({1, 96}, [] {
    if (threadIdx.x < 32) {
      __syncthreads();
    } else if (threadIdx.x == 40) {
      __shfl_sync(0xFFFFFFFFu, 1, 0);
    } else {
      __syncthreads();
    }
  });
  EXPECT_EQ(fault.error, cudaErrorLaunchFailure);
}

TEST(Fault, LaneMissingFromItsOwnMask) {
  expect_fault(run({1, 32}, [] { __shfl_sync(0x0000FFFFu, 1, 0); }), cudaErrorLaunchFailure,
               {"__shfl_sync", "lane 16 is not in its own mask 0x0000ffff"});
}

TEST(Fault, LanesOfOneMaskInDifferentOperations) {
  expect_fault(run({1, 32},
                   [] {
                     if (threadIdx.x < 8)
                       __shfl_sync(0xFFFFFFFFu, 1, 0);
                     else
                       __ballot_sync(0xFFFFFFFFu, 1);
                   }),
               cudaErrorLaunchFailure,
               {"__ballot_sync", "another operation", "Threads 0-7 wait in __shfl_sync"});
}

TEST(Fault, MasksThatOverlap) {
  expect_fault(run({1, 32}, [] { __syncwarp(threadIdx.x < 8 ? 0xFFFFFFFFu : 0xFFFFFF0Fu); }),
               cudaErrorLaunchFailure,
               {"__syncwarp", "0xffffff0f", "Threads 0-7 wait in __syncwarp of lanes 0xffffffff"});
}

TEST(Fault, Trap) {
  expect_fault(run({4, 64},
                   [] {
                     __syncthreads();
                     if (blockIdx.x == 2 && threadIdx.x == 5) __trap();
                   }),
               cudaErrorIllegalInstruction,
               {"block (2, 0, 0), thread (5, 0, 0)", "__trap", "device_fault.cu"});
}

TEST(Fault, Assertion) {
  expect_fault(run({1, 64},
                   [] {
                     __syncthreads();
                     assert(threadIdx.x != 5);
                   }),
               cudaErrorAssert, {"thread (5, 0, 0)", "threadIdx.x != 5", "device_fault.cu"});
}

TEST(Fault, Exceptions) {
  expect_fault(run({1, 64},
                   [] {
                     __syncthreads();
                     throw std::runtime_error("went wrong");
                   }),
               cudaErrorLaunchFailure, {"an exception left the kernel: went wrong"});
  expect_fault(run({1, 64}, [] { throw 1; }), cudaErrorLaunchFailure, {"an exception left the kernel"});
  expect_fault(run({1, 64}, [] { throw std::bad_alloc(); }), cudaErrorLaunchFailure, {"no host memory"});
}

TEST(Fault, ExceptionsCaughtInAThreadStayInIt) {
  std::atomic<int> caught{0};
  run_ok({1, 64}, [&] {
    __syncthreads();
    try {
      throw static_cast<int>(threadIdx.x);
    } catch (int thread) {
      caught += thread == static_cast<int>(threadIdx.x);
    }
    __syncthreads();
  });
  EXPECT_EQ(caught, 64);
}

TEST(Fault, TooLittleSharedMemory) {
  expect_fault(run({1, 1, 100}, [] { simt::shared_memory(101); }), cudaErrorIllegalAddress, {"101", "100"});
}

TEST(Fault, EveryBlockOfManyWorkersCanFail) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    const simt::Fault fault = run({1, 256}, [] {
      if (threadIdx.x % 3 == 0) return;
      if (threadIdx.x == 100) __syncwarp(1u << 4 | 1u << 5);
      __syncthreads();
    });
    ASSERT_EQ(fault.error, cudaErrorLaunchFailure);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these have their own messages
#ifdef __x86_64__
// Through a variable that the compiler does not know.
float* volatile address = nullptr;
void write_to(uintptr_t number) { address = reinterpret_cast<float*>(number); }

TEST(Fault, AddressesWithoutMemory) {
  write_to(12);
  expect_fault(run({2, 40},
                   [] {
                     __syncwarp();
                     if (threadIdx.x == 33) *address = 1;
                     __syncthreads();
                   }),
               cudaErrorIllegalAddress, {"thread (33, 0, 0)", "accesses a null pointer (address 12)"});
  void* const none = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  write_to(reinterpret_cast<uintptr_t>(none) + 100);
  expect_fault(run({1, 1}, [] { *address = 1; }), cudaErrorIllegalAddress,
               {"accesses address 0x", "064, where no memory is"});
  munmap(none, 4096);
  write_to(uintptr_t{1} << 60);
  expect_fault(run({1, 1}, [] { *address = *address + 1; }), cudaErrorIllegalAddress,
               {"accesses an address that no memory can have"});
}

// More often than there are stacks.
TEST(Fault, EveryBlockCanAccessAWrongAddress) {
  write_to(0);
  for (int repeat = 0; repeat < 100; ++repeat) {
    const simt::Fault fault = run({4, 64}, [] {
      __syncwarp();
      *address = 1;
    });
    ASSERT_EQ(fault.error, cudaErrorIllegalAddress);
  }
}

TEST(FaultDeathTest, WrongAddressOfTheHost) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  run_ok({1, 1}, [] {});
  write_to(0);
  EXPECT_EXIT(*address = 1, testing::KilledBySignal(SIGSEGV), "");
}

// The C library may hold a lock there.
TEST(FaultDeathTest, WrongAddressInTheCLibrary) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  write_to(0);
  EXPECT_EXIT(run({1, 1},
                  [] {
                    const float* volatile from = address;
                    std::printf("%zu", std::strlen(reinterpret_cast<const char*>(from)));
                  }),
              testing::KilledBySignal(SIGSEGV), "a function of the C library .* kernel test_kernel");
}
#endif

__attribute__((noinline)) int deep(int depth) {
  volatile char frame[1000] = {};
  return depth == 0 ? frame[0] : deep(depth - 1) + frame[1];
}

TEST(FaultDeathTest, StackOverflow) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  run_ok({1, 2}, [] { EXPECT_EQ(deep(40), 0); });
  EXPECT_DEATH(run({1, 2}, [] { deep(100); }), "used up its stack");
}
#endif

TEST(FaultDeathTest, DeviceFunctionsOutsideAKernel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(__syncthreads(), "outside a kernel");
}

}  // namespace
