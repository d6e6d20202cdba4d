// The race detector: threads, blocks, streams, graphs and devices.
// Above 400 lines because each wrong program stands beside the right one that it differs from.
#include <gtest/gtest-spi.h>
#include <simt/unwritten.h>

#include <cstdlib>

#include "race_check.h"

using namespace race_check;

namespace {

// ----------------------------------------------------------------------------------------------------------
// Kernels with mistakes in shared memory.

__global__ void exchange(bool barrier) {
  shared<int>(threadIdx.x) = 1;                                  // exchange: write
  if (barrier) __syncthreads();
  use(shared<int>((threadIdx.x + 1) % blockDim.x));              // exchange: read
}

__global__ void rounds(bool second_barrier) {
  for (int round = 0; round < 3; ++round) {
    shared<int>(threadIdx.x) = round;                            // rounds: write
    __syncthreads();
    use(shared<int>(blockDim.x - 1 - threadIdx.x));              // rounds: read
    if (second_barrier) __syncthreads();
  }
}

__global__ void in_warps(unsigned mask_of_low_half) {
  const unsigned lane = threadIdx.x % 32;
  shared<int>(threadIdx.x) = 1;                                  // in_warps: write
  __ballot_sync(~0u, 1);  // a vote orders no memory
  if (lane < 16 && mask_of_low_half) __syncwarp(mask_of_low_half);
  if (lane >= 16 && mask_of_low_half) __syncwarp(mask_of_low_half == ~0u ? ~0u : 0xFFFF0000u);
  use(shared<int>(threadIdx.x ^ (mask_of_low_half == 0xFFFFu ? 1 : 31)));  // in_warps: read
}
__global__ void across_halves() {
  shared<int>(threadIdx.x) = 1;                                  // across_halves: write
  __ballot_sync(~0u, 1);  // all have written, but only one half synchronizes
  if (threadIdx.x >= 16) return;
  __syncwarp(0xFFFFu);
  use(shared<int>(threadIdx.x ^ 16));                            // across_halves: read
}

__global__ void synchronizes_warps_only() {
  shared<int>(threadIdx.x) = 1;                                  // warps_only: write
  __syncwarp();
  use(shared<int>(threadIdx.x ^ 32));                            // warps_only: read
}

// The threads of the first warp leave before the barrier, which therefore does not order their writes.
__global__ void leave_early(bool early) {
  shared<int>(threadIdx.x) = 1;                                  // leave_early: write
  if (early && threadIdx.x < 32) return;
  __syncthreads();
  use(shared<int>(threadIdx.x ^ 32));                            // leave_early: read
}

__global__ void atomic_and_plain(int* count, bool barrier) {
  if (threadIdx.x == 0) *count = 0;                              // atomic_and_plain: plain
  if (barrier) __syncthreads();
  atomicAdd(count, 1);                                           // atomic_and_plain: atomic
}

template <class T>
__global__ void neighbours(T* data, bool overlap) {
  data[overlap ? threadIdx.x / 2 : threadIdx.x] = T(1);          // neighbours: write
}

__global__ void unwritten_shared(unsigned threads_that_write) {
  if (threadIdx.x < threads_that_write) shared<int>(threadIdx.x) = 1;
  __syncthreads();
  use(shared<int>(threadIdx.x));                                 // unwritten_shared: read
}

__global__ void allowed_unwritten() {
  if (threadIdx.x == 5) simt::allow_unwritten(&shared<int>(0), 63 * 4);
  __syncthreads();
  use(shared<int>(threadIdx.x));                                 // allowed_unwritten: read
}

// cp.async: what may be missing is the wait, the barrier after it, or both barriers of a loop.
__global__ void copy_tile(const int* from, bool wait, bool barrier) {
  simt::async_copy<4>(&shared<int>(threadIdx.x), from + threadIdx.x);  // copy_tile: copy
  simt::async_commit();
  if (wait) simt::async_wait(0);
  if (barrier) __syncthreads();
  if (threadIdx.x != 0) use(shared<int>(threadIdx.x - 1));       // copy_tile: read
}
// Two groups; waits until only `pending` of them are.
__global__ void copy_two(const int* from, int pending) {
  simt::async_copy<4>(&shared<int>(threadIdx.x), from + threadIdx.x);
  simt::async_commit();
  simt::async_copy<4>(&shared<int>(32 + threadIdx.x), from + threadIdx.x);  // copy_two: second
  simt::async_commit();
  simt::async_wait(pending);
  use(shared<int>(threadIdx.x));
  use(shared<int>(32 + threadIdx.x));                            // copy_two: read of second
}
__global__ void overwrite_copy(const int* from, bool wait) {
  simt::async_copy<4>(&shared<int>(threadIdx.x), from + threadIdx.x);  // overwrite_copy: copy
  simt::async_commit();
  if (wait) simt::async_wait(0);
  shared<int>(threadIdx.x) = 1;                                  // overwrite_copy: write
  if (!wait) simt::async_wait(0);
}

__global__ void fill_shared() {
  for (unsigned i = threadIdx.x; i < simt::detail::shared_bytes / 4; i += blockDim.x) shared<int>(i) = 1;
}

// ----------------------------------------------------------------------------------------------------------
// Kernels for global memory.

__global__ void blocks_write(int* words, bool same) {
  words[(same ? 0 : blockIdx.x * blockDim.x) + threadIdx.x] = 1;  // blocks_write: write
}

// A fence is no barrier. One block.
__global__ void fence_as_barrier() {
  shared<int>(threadIdx.x) = 1;                                  // fence_as_barrier: write
  __threadfence();
  use(shared<int>(threadIdx.x ^ 32));                            // fence_as_barrier: read
}

// Whether the block is the first one to run, which need not be block 0. Needs 4 bytes of shared memory.
__device__ bool runs_first(int* arrivals) {
  if (threadIdx.x == 0) shared<int>(0) = atomicAdd(arrivals, 1);
  __syncthreads();
  return shared<int>(0) % gridDim.x == 0;
}

// The second block looks at a counter before it reads what the first one wrote: at its counter, or at
// another.
__global__ void looks_at(int counter, int* words, int* arrivals) {
  if (runs_first(arrivals)) {
    words[0] = 1;                                                // looks_at: write
    __threadfence();
    atomicAdd(words + 1, 1);
  } else {
    atomicAdd(words + 1 + counter, 1);
    __threadfence();
    use(words[0]);                                               // looks_at: read
  }
}

// The second block reads what the first one wrote once it sees a flag. The flag is volatile, not atomic.
__global__ void volatile_flag(volatile int* flag, int* words, bool fences, int* arrivals) {
  if (runs_first(arrivals)) {
    words[0] = 1;                                                // volatile_flag: write
    if (fences) __threadfence();
    *flag = 1;
  } else {
    while (*flag == 0) {
    }
    if (fences) __threadfence();
    use(words[0]);                                               // volatile_flag: read
  }
}

// volatile does not replace __syncwarp().
__global__ void volatile_in_shared() {
  volatile int* const words = &shared<int>(0);
  words[threadIdx.x] = 1;                                        // volatile_in_shared: write
  use(words[threadIdx.x ^ 1]);                                   // volatile_in_shared: read
}

// The threads of the first block read. The second one writes after those with a fence: all but one.
__global__ void overwrites_readers(int* words, int* count, unsigned without_fence, int* arrivals) {
  if (runs_first(arrivals)) {
    use(words[0]);                                               // overwrites_readers: read
    if (threadIdx.x != without_fence) __threadfence();
    atomicAdd(count, 1);
  } else if (threadIdx.x == 0) {
    atomicAdd(count, 1);
    __threadfence();
    words[0] = 1;                                                // overwrites_readers: write
  }
}

// Reads its counter without an atomic once it is `limit`: wrong, unless no block follows.
__global__ void count_then_read(int* count, int limit) {
  if (atomicAdd(count, 1) % 2 + 1 < limit) return;               // count_then_read: atomic
  use(*count);                                                   // count_then_read: read
}

enum class Fence { none, every_thread, first_thread, late, for_the_block };

// The last block adds what all blocks wrote.
__global__ void last_block(int* partial, unsigned* finished, int* sum, Fence fence) {
  partial[blockIdx.x * blockDim.x + threadIdx.x] = 1;            // last_block: write
  if (fence == Fence::every_thread) __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (fence == Fence::first_thread) __threadfence();
    if (fence == Fence::for_the_block) __threadfence_block();
    shared<int>(0) = atomicAdd(finished, 1u) == gridDim.x - 1;
    if (fence == Fence::late) __threadfence();
  }
  __syncthreads();
  if (!shared<int>(0)) return;
  int total = 0;
  for (unsigned i = threadIdx.x; i < gridDim.x * blockDim.x; i += blockDim.x)
    total += partial[(i + 1) % (gridDim.x * blockDim.x)];        // last_block: read
  atomicAdd(sum, total);
  if (threadIdx.x == 0) *finished = 0;  // plainly: no other block uses it any more
}

__global__ void fill(int* to, int value) {
  to[blockIdx.x * blockDim.x + threadIdx.x] = value;             // fill: write
}
__global__ void look(const int* from) {
  use(from[threadIdx.x]);                                        // look: read
}

// ----------------------------------------------------------------------------------------------------------

// ----------------------------------------------------------------------------------------------------------
// Shared memory.

TEST_F(RaceCheck, WorkWithoutAKernelShowsNothing) {
  EXPECT_NONFATAL_FAILURE(expect_silent([] {}), "no kernel was launched");
}

TEST_F(RaceCheck, MissingBarrier) {
  for (const unsigned threads : {2u, 64u, 256u}) {
    expect_silent([&] { launch(2, threads, threads * 4, nullptr, exchange, true); });
    const Finding finding = expect_race("exchange: write", "exchange: read", [&] {
      launch(1, threads, threads * 4, nullptr, exchange, false);
    });
    EXPECT_EQ(finding.space, AccessSpace::shared);
  }
}

TEST_F(RaceCheck, ReportCanBeUnderstood) {
  const Finding finding = expect_race("exchange: write", "exchange: read",
                                      [&] { launch(1, 64, 256, nullptr, exchange, false); });
  const std::string file = __FILE__;
  const auto at = [&](const char* mark) {
    return file + ":" + std::to_string(line_of(mark)) + " (exchange)";
  };
  EXPECT_EQ(finding.text,
            "unordered accesses to byte 4 of shared memory:\n"
            "    reads 4 bytes: block (0, 0, 0), thread (0, 0, 0), " + at("exchange: read") + "\n"
            "    writes 4 bytes: block (0, 0, 0), thread (1, 0, 0), " + at("exchange: write") + "\n"
            "  In kernel (anonymous namespace)::exchange(bool), the default stream of device 0\n"
            "  Neither __syncthreads nor __syncwarp is between them; shuffles and votes order no memory.\n");
}

TEST_F(RaceCheck, MissingSecondBarrierOfALoop) {
  expect_silent([&] { launch(1, 64, 256, nullptr, rounds, true); });
  expect_race("rounds: write", "rounds: read", [&] { launch(1, 64, 256, nullptr, rounds, false); });
}

TEST_F(RaceCheck, MissingSyncwarp) {
  expect_silent([&] { launch(1, 64, 256, nullptr, in_warps, ~0u); });
  expect_silent([&] { launch(1, 64, 256, nullptr, in_warps, 0xFFFFu); });
  const Finding finding =
      expect_race("in_warps: write", "in_warps: read", [&] { launch(1, 64, 256, nullptr, in_warps, 0u); });
  EXPECT_TRUE(says(finding, "__syncwarp")) << finding.text;
}

TEST_F(RaceCheck, SyncwarpOrdersOnlyTheLanesOfItsMask) {
  expect_race("across_halves: write", "across_halves: read",
              [&] { launch(1, 32, 128, nullptr, across_halves); });
  expect_race("warps_only: write", "warps_only: read",
              [&] { launch(1, 64, 256, nullptr, synchronizes_warps_only); });
}

TEST_F(RaceCheck, BarrierDoesNotOrderThreadsThatHaveExited) {
  expect_silent([&] { launch(1, 64, 256, nullptr, leave_early, false); });
  expect_race("leave_early: write", "leave_early: read",
              [&] { launch(1, 64, 256, nullptr, leave_early, true); });
}

TEST_F(RaceCheck, UnwrittenSharedMemory) {
  expect_silent([&] { launch(2, 64, 256, nullptr, unwritten_shared, 64u); });
  // A second block does not see what the first one wrote.
  const Finding finding = expect_one(Problem::unwritten_read, "", "unwritten_shared: read", [&] {
    launch(1, 64, 256, nullptr, unwritten_shared, 64u);
    launch(2, 64, 256, nullptr, unwritten_shared, 63u);
  });
  EXPECT_EQ(finding.offset, 63u * 4);
  EXPECT_EQ(finding.times, 2u);
}

TEST_F(RaceCheck, UnwrittenMemoryCanBeAllowed) {
  expect_silent([&] { launch(2, 63, 256, nullptr, allowed_unwritten); });
  const Finding finding = expect_one(Problem::unwritten_read, "", "allowed_unwritten: read",
                                     [&] { launch(2, 64, 256, nullptr, allowed_unwritten); });
  EXPECT_EQ(finding.offset, 63u * 4);
}

// ----------------------------------------------------------------------------------------------------------
// cp.async, which copies at the issue, or late.

TEST_F(RaceCheck, MissingWaitForACopy) {
  int* const from = allocate<int>(64);
  CUDA_OK(cudaMemset(from, 0, 256));
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    expect_silent([&] { launch(1, 64, 256, nullptr, copy_tile, from, true, true); });
    expect_one(Problem::unfinished_copy, "copy_tile: copy", "copy_tile: read",
               [&] { launch(1, 64, 256, nullptr, copy_tile, from, false, true); });
    expect_race("copy_tile: copy", "copy_tile: read",
                [&] { launch(1, 64, 256, nullptr, copy_tile, from, true, false); });
    expect_silent([&] { launch(1, 32, 256, nullptr, copy_two, from, 0); });
    expect_one(Problem::unfinished_copy, "copy_two: second", "copy_two: read of second",
               [&] { launch(1, 32, 256, nullptr, copy_two, from, 1); });
    expect_silent([&] { launch(1, 32, 256, nullptr, overwrite_copy, from, true); });
    expect_one(Problem::unfinished_copy, "overwrite_copy: copy", "overwrite_copy: write",
               [&] { launch(1, 32, 256, nullptr, overwrite_copy, from, false); });
  }
  simt::set_late_copies(false);
  CUDA_OK(cudaFree(from));
}

// ----------------------------------------------------------------------------------------------------------
// One launch and global memory.

struct Global : RaceCheck {
  void SetUp() override {
    RaceCheck::SetUp();
    if (IsSkipped()) return;
    words_ = allocate<int>(kWords);
    other_ = allocate<int>(kWords);
    CUDA_OK(cudaMemset(words_, 0, kWords * 4));
    CUDA_OK(cudaMemset(other_, 0, kWords * 4));
  }
  void TearDown() override {
    cudaFree(words_);
    cudaFree(other_);
    RaceCheck::TearDown();
  }
  static constexpr size_t kWords = 4096, kArrivals = 100;
  int *words_ = nullptr, *other_ = nullptr;
};

TEST_F(Global, RaceOfBlocks) {
  expect_silent([&] { launch(4, 32, 0, nullptr, blocks_write, words_, false); });
  const Finding finding = expect_race("blocks_write: write", "blocks_write: write",
                                      [&] { launch(4, 32, 0, nullptr, blocks_write, words_, true); });
  EXPECT_NE(finding.earlier->block.x, finding.access.block.x);
  EXPECT_EQ(finding.earlier->thread.x, finding.access.thread.x);
  EXPECT_EQ(finding.times, 3u * 32);
  EXPECT_TRUE(says(finding, "byte 0 of the 16384 of an allocation of device 0")) << finding.text;
}

TEST_F(Global, TheSameUnderASeed) {
  simt::set_seed(7);
  expect_silent([&] { launch(4, 32, 0, nullptr, blocks_write, words_, false); });
  expect_race("blocks_write: write", "blocks_write: write",
              [&] { launch(4, 32, 0, nullptr, blocks_write, words_, true); });
  expect_race("exchange: write", "exchange: read", [&] {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      simt::set_seed(seed);
      launch(1, 64, 256, nullptr, exchange, false);
      CUDA_OK(cudaDeviceSynchronize());
    }
  });
}

TEST_F(Global, LastBlockNeedsAFence) {
  const auto run = [&](Fence fence) {
    CUDA_OK(cudaMemset(other_, 0, 8));
    launch(20, 64, 4, nullptr, last_block, words_, reinterpret_cast<unsigned*>(other_), other_ + 1, fence);
    EXPECT_EQ(read(other_ + 1), 20 * 64);
  };
  expect_silent([&] { run(Fence::every_thread); });
  expect_silent([&] { run(Fence::first_thread); });
  const Finding finding = expect_race("last_block: write", "last_block: read", [&] { run(Fence::none); });
  EXPECT_TRUE(says(finding, "__threadfence")) << finding.text;
  expect_race("last_block: write", "last_block: read", [&] { run(Fence::late); });
  expect_race("last_block: write", "last_block: read", [&] { run(Fence::for_the_block); });
}

TEST_F(Global, FencesOrderWithAtomicsOnOneAddressOnly) {
  const auto look_at = [&](int counter) {
    launch(2, 1, 4, nullptr, looks_at, counter, words_, other_ + kArrivals);
  };
  expect_silent([&] { look_at(0); });
  expect_race("looks_at: write", "looks_at: read", [&] { look_at(1); });
  expect_race("fence_as_barrier: write", "fence_as_barrier: read",
              [&] { launch(1, 64, 256, nullptr, fence_as_barrier); });
}

TEST_F(Global, AVolatileFlagNeedsFences) {
  const auto run = [&](bool fences) {
    CUDA_OK(cudaMemset(other_, 0, 4));
    launch(2, 1, 4, nullptr, volatile_flag, other_, words_, fences, other_ + kArrivals);
  };
  expect_silent([&] { run(true); });
  expect_race("volatile_flag: write", "volatile_flag: read", [&] { run(false); });
  expect_race("volatile_in_shared: write", "volatile_in_shared: read",
              [&] { launch(1, 32, 128, nullptr, volatile_in_shared); });
}

// Of four reads in one block, each in turn is the one that nothing orders.
TEST_F(Global, EachReaderNeedsItsFence) {
  const auto run = [&](unsigned without_fence) {
    launch(2, 4, 4, nullptr, overwrites_readers, words_, other_, without_fence, other_ + kArrivals);
  };
  expect_silent([&] { run(4); });
  for (unsigned thread = 0; thread < 4; ++thread) {
    const Finding finding =
        expect_race("overwrites_readers: read", "overwrites_readers: write",
                    [&] { run(thread); });
    EXPECT_EQ(finding.earlier->thread.x, thread);
  }
}

TEST_F(Global, AtomicsRaceWithPlainAccesses) {
  expect_silent([&] { launch(1, 64, 0, nullptr, atomic_and_plain, words_, true); });
  expect_race("atomic_and_plain: plain", "atomic_and_plain: atomic",
              [&] { launch(1, 64, 0, nullptr, atomic_and_plain, words_, false); });
}

// The accesses of other threads to the counter of last_block(), which the planted mistakes do not concern.
TEST_F(Global, AtomicsOrderOnlyTheirOwnAddress) {
  expect_race("count_then_read: read", "count_then_read: atomic",
              [&] { launch(2, 1, 0, nullptr, count_then_read, words_, 1); });
  expect_silent([&] { launch(2, 1, 0, nullptr, count_then_read, words_, 2); });
}

TEST_F(Global, NeighboursOfAnySizeAreApart) {
  const auto both = [&](auto type) {
    using T = decltype(type);
    expect_silent([&] { launch(1, 64, 0, nullptr, neighbours<T>, reinterpret_cast<T*>(words_), false); });
    expect_race("neighbours: write", "neighbours: write",
                [&] { launch(1, 64, 0, nullptr, neighbours<T>, reinterpret_cast<T*>(words_), true); });
  };
  both(char());
  both(short());
  both(int());
  both(double());
  // An access of 4 bytes against one of a single byte within it.
  const std::vector<Finding> findings = findings_of([&] {
    const cudaStream_t a = make_stream(), b = make_stream();
    launch(1, 64, 0, a, neighbours<char>, reinterpret_cast<char*>(words_), false);
    launch(1, 1, 0, b, fill, words_ + 15, 0);
    launch(1, 1, 0, b, fill, words_ + 16, 0);  // beside
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].times, 4u);  // once for each byte
}

TEST_F(Global, UnwrittenGlobalMemory) {
  int* const fresh = allocate<int>(64);
  expect_silent([&] { launch(1, 64, 0, nullptr, look, fresh); });  // older than the race detector
  CUDA_OK(cudaFree(fresh));
  const auto on_fresh = [&](auto work) {
    return [work] {
      int* const memory = allocate<int>(64);
      work(memory);
      CUDA_OK(cudaFree(memory));
    };
  };
  expect_one(Problem::unwritten_read, "", "look: read", on_fresh([](int* memory) {
    CUDA_OK(cudaMemset(memory, 0, 63 * 4));
    launch(1, 64, 0, nullptr, look, memory);
  }));
  expect_silent(on_fresh([](int* memory) {
    launch(2, 32, 0, nullptr, fill, memory, 0);
    launch(1, 64, 0, nullptr, look, memory);
  }));
  // A copy copies the state, too.
  expect_one(Problem::unwritten_read, "", "look: read", on_fresh([this](int* memory) {
    CUDA_OK(cudaMemcpy(words_, memory, 256, cudaMemcpyDeviceToDevice));
    CUDA_OK(cudaMemcpy(words_, other_, 252, cudaMemcpyDeviceToDevice));
    launch(1, 63, 0, nullptr, look, words_);
    launch(1, 64, 0, nullptr, look, words_);
  }));
  // The next allocation at the same address is unwritten again.
  expect_one(Problem::unwritten_read, "", "look: read", [&] {
    for (int i = 0; i < 2; ++i) {
      int* const memory = allocate<int>(64);
      if (i == 0) CUDA_OK(cudaMemset(memory, 0, 256));
      launch(1, 64, 0, nullptr, look, memory);
      CUDA_OK(cudaDeviceSynchronize());
      CUDA_OK(cudaFree(memory));
    }
  });
}

// ----------------------------------------------------------------------------------------------------------
// Streams.

struct Streams : Global {
  void SetUp() override {
    Global::SetUp();
    if (IsSkipped()) return;
    a_ = make_stream();
    b_ = make_stream();
    event_ = make_event();
  }
  void TearDown() override {
    if (a_) cudaStreamDestroy(a_);
    if (b_) cudaStreamDestroy(b_);
    if (event_) cudaEventDestroy(event_);
    Global::TearDown();
  }
  void write_on(cudaStream_t stream) { launch(1, 64, 0, stream, fill, words_, 1); }
  void read_on(cudaStream_t stream) { launch(1, 64, 0, stream, look, words_); }

  // A kernel writes on stream a, `order` is what the program does next, and a kernel reads on stream b.
  template <class Order>
  auto with(Order order) {
    return [this, order] {
      write_on(a_);
      order();
      read_on(b_);
    };
  }
  cudaStream_t a_ = nullptr, b_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

TEST_F(Streams, MissingEvent) {
  expect_silent(with([&] {
    CUDA_OK(cudaEventRecord(event_, a_));
    CUDA_OK(cudaStreamWaitEvent(b_, event_));
  }));
  const Finding finding = expect_race("fill: write", "look: read", with([] {}));
  EXPECT_TRUE(says(finding, "no event")) << finding.text;
  // In one direction only, and recorded too early.
  expect_race("fill: write", "look: read", with([&] {
    CUDA_OK(cudaEventRecord(event_, b_));
    CUDA_OK(cudaStreamWaitEvent(a_, event_));
  }));
  expect_race("fill: write", "look: read", [&] {
    CUDA_OK(cudaEventRecord(event_, a_));
    write_on(a_);
    CUDA_OK(cudaStreamWaitEvent(b_, event_));
    read_on(b_);
  });
}

// The first operation has long finished, which the program does not know.
TEST_F(Streams, FinishedIsNotOrdered) {
  const auto finish = [&] {
    while (cudaStreamQuery(a_) != cudaSuccess) {
    }
  };
  expect_silent(with(finish));  // by the query the program knows
  expect_race("fill: write", "look: read", with([&] {
    const cudaStream_t other = make_stream();
    launch(1, 64, 0, other, fill, other_, 1);
    CUDA_OK(cudaStreamSynchronize(other));
    CUDA_OK(cudaStreamDestroy(other));
  }));
}

TEST_F(Streams, WaitsOfTheHostOrder) {
  expect_silent(with([&] { CUDA_OK(cudaStreamSynchronize(a_)); }));
  expect_silent(with([&] { CUDA_OK(cudaDeviceSynchronize()); }));
  expect_silent(with([&] {
    CUDA_OK(cudaEventRecord(event_, a_));
    CUDA_OK(cudaEventSynchronize(event_));
  }));
  expect_silent(with([&] {
    CUDA_OK(cudaEventRecord(event_, a_));
    while (cudaEventQuery(event_) != cudaSuccess) {
    }
  }));
  expect_silent([&] {
    write_on(a_);
    read(words_ + kWords - 1);  // a blocking copy waits for its own stream, which is not stream a
    CUDA_OK(cudaStreamSynchronize(a_));
    read_on(b_);
  });
  expect_race("fill: write", "look: read", with([&] { CUDA_OK(cudaStreamSynchronize(b_)); }));
  expect_race("fill: write", "look: read", with([&] { read(other_); }));
}

TEST_F(Streams, LegacyStreamOrdersBlockingStreams) {
  const cudaStream_t blocking = make_stream(cudaStreamDefault), second = make_stream(cudaStreamDefault);
  expect_silent([&] {
    write_on(blocking);
    read_on(nullptr);
    write_on(second);
  });
  expect_race("fill: write", "look: read", [&] {
    write_on(a_);  // does not block
    read_on(nullptr);
  });
  expect_race("fill: write", "look: read", [&] {
    write_on(blocking);
    read_on(second);
  });
  CUDA_OK(cudaStreamDestroy(second));
  expect_silent([&] {
    write_on(blocking);
    CUDA_OK(cudaStreamDestroy(blocking));
    read_on(nullptr);
  });
}

// Waits that only this executor adds must not hide a missing event.
TEST_F(Streams, SharedHardwareQueueDoesNotOrder) {
  CUDA_OK(simt::set_connections(1));
  const cudaStream_t first = make_stream(), second = make_stream();
  CUDA_OK(simt::set_connections(8));
  expect_race("fill: write", "look: read", [&] {
    write_on(first);
    read_on(second);
  });
  CUDA_OK(cudaStreamDestroy(first));
  CUDA_OK(cudaStreamDestroy(second));
}

TEST_F(Streams, CopyOverwritesWhatAKernelReads) {
  const auto run = [&](bool event) {
    read_on(a_);
    CUDA_OK(cudaEventRecord(event_, a_));
    if (event) CUDA_OK(cudaStreamWaitEvent(b_, event_));
    CUDA_OK(cudaMemcpyAsync(words_, other_, 256, cudaMemcpyDeviceToDevice, b_));
  };
  expect_silent([&] { run(true); });
  const std::vector<Finding> findings = findings_of([&] { run(false); });
  ASSERT_EQ(findings.size(), 1u);
  // Either may run first.
  const bool kernel_first = findings[0].earlier->in_kernel;
  const simt::CheckedAccess &reads = kernel_first ? *findings[0].earlier : findings[0].access,
                      &writes = kernel_first ? findings[0].access : *findings[0].earlier;
  EXPECT_EQ(line(reads), line_of("look: read"));
  EXPECT_FALSE(writes.in_kernel);
  EXPECT_TRUE(says(findings[0], "writes: a copy in stream")) << findings[0].text;
}

// The blocks of two launches run alternately, on two workers.
TEST_F(Streams, LaunchesMayHaveDifferentSharedMemory) {
  expect_silent([&] {
    launch(500, 32, 8000, a_, fill_shared);
    for (int i = 0; i < 50; ++i) launch(10, 32, 64, b_, fill_shared);
  });
}

TEST_F(Streams, FillAndRowsOfACopy) {
  // Rows of 16 bytes, 64 bytes apart. The kernel writes between them.
  const auto run = [&](size_t offset) {
    return findings_of([&] {
      CUDA_OK(cudaMemcpy2DAsync(words_, 64, other_, 64, 16, 8, cudaMemcpyDeviceToDevice, a_));
      launch(1, 4, 0, b_, fill, words_ + 3 * 16 + offset, 1);
    });
  };
  EXPECT_TRUE(run(4).empty());
  EXPECT_EQ(run(3).size(), 1u);
  const std::vector<Finding> findings = findings_of([&] {
    CUDA_OK(cudaMemsetAsync(words_, 0, 16, a_));
    write_on(b_);
  });
  ASSERT_EQ(findings.size(), 1u);
  // Either may run first.
  EXPECT_TRUE(findings[0].earlier->operation == "a fill" || findings[0].access.operation == "a fill")
      << findings[0].text;
}

// A write after reads on many streams must be after each of them.
TEST_F(Streams, EveryReaderCounts) {
  std::vector<cudaStream_t> readers;
  for (int i = 0; i < 6; ++i) readers.push_back(make_stream());
  for (size_t missing = 0; missing <= readers.size(); ++missing) {
    const auto run = [&] {
      for (size_t i = 0; i < readers.size(); ++i) {
        launch(2, 64, 0, readers[i], look, words_);  // all blocks and threads read the same words
        CUDA_OK(cudaEventRecord(event_, readers[i]));
        if (i != missing) CUDA_OK(cudaStreamWaitEvent(a_, event_));
      }
      write_on(a_);
    };
    if (missing == readers.size())
      expect_silent(run);
    else
      expect_race("look: read", "fill: write", run);
  }
  for (const cudaStream_t stream : readers) CUDA_OK(cudaStreamDestroy(stream));
}

// ----------------------------------------------------------------------------------------------------------
// Graphs.

struct Graphs : Streams {
  // Captures two kernels in branches: one writes, the other one reads, after it if `joined`.
  cudaGraphExec_t capture(bool joined) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaStreamBeginCapture(a_, cudaStreamCaptureModeGlobal), cudaSuccess);
    const auto from_a_to_b = [&](cudaStream_t from, cudaStream_t to) {
      EXPECT_EQ(cudaEventRecord(event_, from), cudaSuccess);
      EXPECT_EQ(cudaStreamWaitEvent(to, event_), cudaSuccess);
    };
    if (!joined) from_a_to_b(a_, b_);
    write_on(a_);
    if (joined) from_a_to_b(a_, b_);
    read_on(b_);
    from_a_to_b(b_, a_);
    EXPECT_EQ(cudaStreamEndCapture(a_, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    return exec;
  }
};

TEST_F(Graphs, BranchesAreNotOrdered) {
  // A stream that captures its first operation in a branch needs a node to branch from.
  const cudaGraphExec_t joined = capture(true), split = capture(false);
  const auto replay = [&](cudaGraphExec_t exec) {
    return [=, this] {
      for (int i = 0; i < 3; ++i) launch_graph(exec, a_);
    };
  };
  expect_silent(replay(joined));
  const Finding finding = expect_race("fill: write", "look: read", replay(split));
  EXPECT_TRUE(says(finding, "path of the graph")) << finding.text;
  // Replays of one graph are ordered, also on two streams; a replay and other work are not.
  expect_silent([&] {
    launch_graph(joined, a_);
    launch_graph(joined, b_);
  });
  expect_race("fill: write", "look: read", [&] {
    launch_graph(joined, a_);
    read_on(b_);
  });
  expect_silent([&] {
    launch_graph(joined, a_);
    CUDA_OK(cudaEventRecord(event_, a_));
    CUDA_OK(cudaStreamWaitEvent(b_, event_));
    read_on(b_);
    write_on(b_);
    CUDA_OK(cudaStreamSynchronize(b_));
    launch_graph(joined, a_);
  });
  CUDA_OK(cudaGraphExecDestroy(joined));
  CUDA_OK(cudaGraphExecDestroy(split));
}

// The same two kernels as nodes, with an edge between them, an edge through other nodes, or none.
TEST_F(Graphs, NodesWithoutAnEdgeAreNotOrdered) {
  write_on(a_);  // names the kernels by their types
  read_on(a_);
  CUDA_OK(cudaStreamSynchronize(a_));
  enum class Edge { none, direct, through_an_empty_node, of_a_child_graph };
  const auto build = [&](Edge edge) {
    cudaGraph_t graph = nullptr, inner = nullptr;
    EXPECT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphCreate(&inner, 0), cudaSuccess);
    int value = 1;
    void* arguments[] = {&words_, &value};
    cudaKernelNodeParams params = {};
    params.gridDim = dim3(1);
    params.blockDim = dim3(64);
    params.kernelParams = arguments;
    params.func = reinterpret_cast<void*>(look);
    cudaGraphNode_t read = nullptr, write = nullptr, between = nullptr;
    EXPECT_EQ(cudaGraphAddKernelNode(&read, graph, nullptr, 0, &params), cudaSuccess);
    params.func = reinterpret_cast<void*>(fill);
    if (edge == Edge::of_a_child_graph) {
      EXPECT_EQ(cudaGraphAddKernelNode(&write, inner, nullptr, 0, &params), cudaSuccess);
      EXPECT_EQ(cudaGraphAddChildGraphNode(&between, graph, nullptr, 0, inner), cudaSuccess);
    } else {
      EXPECT_EQ(cudaGraphAddKernelNode(&write, graph, nullptr, 0, &params), cudaSuccess);
      if (edge == Edge::through_an_empty_node) {
        EXPECT_EQ(cudaGraphAddEmptyNode(&between, graph, &write, 1), cudaSuccess);
      }
    }
    const cudaGraphNode_t* const before = between ? &between : &write;
    if (edge != Edge::none) {
      EXPECT_EQ(cudaGraphAddDependencies(graph, before, &read, nullptr, 1), cudaSuccess);
    }
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(inner), cudaSuccess);
    return exec;
  };
  for (const Edge edge : {Edge::direct, Edge::through_an_empty_node, Edge::of_a_child_graph}) {
    const cudaGraphExec_t exec = build(edge);
    expect_silent([&] {
      launch_graph(exec, a_);
      launch_graph(exec, b_);
    });
    CUDA_OK(cudaGraphExecDestroy(exec));
  }
  const cudaGraphExec_t exec = build(Edge::none);
  const Finding finding = expect_race("fill: write", "look: read", [&] { launch_graph(exec, a_); });
  EXPECT_TRUE(says(finding, "path of the graph")) << finding.text;
  CUDA_OK(cudaGraphExecDestroy(exec));
}

// ----------------------------------------------------------------------------------------------------------
// Two devices.

TEST_F(Streams, PeerCopyNeedsAnEventToo) {
  CUDA_OK(cudaSetDevice(1));
  int* const far = allocate<int>(64);
  const cudaStream_t on_far = make_stream();
  CUDA_OK(cudaSetDevice(0));
  const auto run = [&](bool event) {
    write_on(a_);
    CUDA_OK(cudaEventRecord(event_, a_));
    if (event) CUDA_OK(cudaStreamWaitEvent(on_far, event_));
    CUDA_OK(cudaMemcpyPeerAsync(far, 1, words_, 0, 256, on_far));
    CUDA_OK(cudaStreamSynchronize(on_far));
  };
  expect_silent([&] { run(true); });
  const std::vector<Finding> findings = findings_of([&] { run(false); });
  ASSERT_EQ(findings.size(), 1u);
  const bool kernel_first = findings[0].earlier->in_kernel;
  EXPECT_EQ(line(kernel_first ? *findings[0].earlier : findings[0].access), line_of("fill: write"));
  EXPECT_TRUE(says(findings[0], "reads: a copy in stream")) << findings[0].text;
  EXPECT_TRUE(says(findings[0], "of device 1")) << findings[0].text;
  // cudaMemcpyPeer comes after all work of both devices.
  expect_silent([&] {
    write_on(a_);
    CUDA_OK(cudaMemcpyPeer(far, 1, words_, 0, 256));
    write_on(b_);
  });
  // The legacy streams of two devices are not ordered.
  CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
  expect_race("fill: write", "look: read", [&] {
    CUDA_OK(cudaSetDevice(1));
    launch(1, 64, 0, nullptr, fill, far, 1);
    CUDA_OK(cudaSetDevice(0));
    launch(1, 64, 0, nullptr, look, far);
    CUDA_OK(cudaSetDevice(1));
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaSetDevice(0));
  });
  CUDA_OK(cudaDeviceDisablePeerAccess(1));
  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(cudaFree(far));
  CUDA_OK(cudaStreamDestroy(on_far));
  CUDA_OK(cudaSetDevice(0));
}

// ----------------------------------------------------------------------------------------------------------
// Starting and ending.

TEST_F(RaceCheck, OneCheckOrProfileAtATime) {
  EXPECT_EQ(simt::start_check(), cudaSuccess);
  EXPECT_EQ(simt::start_check(), cudaErrorInvalidValue);
  EXPECT_EQ(simt::start_profile(), cudaErrorInvalidValue);
  EXPECT_TRUE(simt::stop_check().empty());
  EXPECT_TRUE(simt::stop_check().empty());
  EXPECT_EQ(simt::start_profile(), cudaSuccess);
  EXPECT_EQ(simt::start_check(), cudaErrorInvalidValue);
  EXPECT_TRUE(simt::stop_profile().empty());
}

TEST(RaceCheckNowhere, BuildThatCannotObserveSaysSo) {
  if (simt::can_observe()) GTEST_SKIP() << "needs a build without RONDO_OBSERVE";
  EXPECT_EQ(simt::start_check(), cudaErrorNotSupported);
  EXPECT_TRUE(simt::stop_check().empty());
}

// SIMT_CHECK=1, each in a process of its own.
struct WholeProgramDeathTest : testing::Test {
  WholeProgramDeathTest() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    simt::settings();  // of this process, which has read the environment then
    setenv("SIMT_CHECK", "1", 1);
  }
  ~WholeProgramDeathTest() override { unsetenv("SIMT_CHECK"); }

  static void run(bool correct) {
    launch(1, 64, 256, nullptr, exchange, correct);
    cudaDeviceSynchronize();
    std::exit(0);
  }
};

TEST_F(WholeProgramDeathTest, EndsWithExitCode3) {
  if (!simt::can_observe()) GTEST_SKIP() << "needs RONDO_OBSERVE";
  EXPECT_EXIT(run(true), testing::ExitedWithCode(0), "^$");
  EXPECT_EXIT(run(false), testing::ExitedWithCode(simt::kExitCodeOfFindings),
              "simt: unordered accesses to byte [0-9]+ of shared memory:(.|\n)*"
              "simt: 1 finding of SIMT_CHECK=1");
}

TEST_F(WholeProgramDeathTest, IsRefusedByABuildThatCannotObserve) {
  if (simt::can_observe()) GTEST_SKIP() << "needs a build without RONDO_OBSERVE";
  EXPECT_EXIT(run(true), testing::ExitedWithCode(2),
              "SIMT_CHECK=1 is only possible in a build with RONDO_OBSERVE");
}

}  // namespace
