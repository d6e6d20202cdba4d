// The race detector: mbarriers, bulk copies and wgmma.
#include <rondo/kernels/core/ptx/bulk_copy.cuh>
#include <rondo/kernels/core/ptx/cp_async.cuh>
#include <rondo/kernels/core/ptx/mbarrier.cuh>
#include <rondo/kernels/core/ptx/wgmma.cuh>

#include "race_check.h"

using namespace race_check;
namespace ptx = rondo::ptx;

namespace {

// mbarriers, at the end of 4 KB of shared memory.
ptx::Mbarrier* barrier(int index = 0) { return &shared<ptx::Mbarrier>(448 + index); }
void init(unsigned count, int index = 0) {
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(barrier(index), count);
    ptx::mbarrier_init_fence();
  }
  __syncthreads();
}

// Thread 0 writes and arrives; the last thread waits and reads.
__global__ void pass_on(bool arrive_after, bool wait) {
  init(1);
  if (threadIdx.x == 0) {
    if (!arrive_after) ptx::mbarrier_arrive(barrier());
    shared<int>(0) = 1;                                          // pass_on: write
    if (arrive_after) ptx::mbarrier_arrive(barrier());
  } else if (threadIdx.x == blockDim.x - 1) {
    if (wait) ptx::mbarrier_wait(barrier(), 0);
    use(shared<int>(0));                                         // pass_on: read
  }
}
// Warp 0 writes. Its first lane arrives for all, which needs a __syncwarp; thread 32 waits, and thread 64
// learns of it by a second mbarrier.
__global__ void pass_on_twice(bool syncwarp) {
  init(1, 0);
  init(1, 1);
  if (threadIdx.x < 32) {
    shared<int>(threadIdx.x) = 1;                                // pass_on_twice: write
    if (syncwarp) __syncwarp();
    if (threadIdx.x == 0) ptx::mbarrier_arrive(barrier(0));
  } else if (threadIdx.x == 32) {
    ptx::mbarrier_wait(barrier(0), 0);
    ptx::mbarrier_arrive(barrier(1));
  } else if (threadIdx.x == 64) {
    ptx::mbarrier_wait(barrier(1), 0);
    use(shared<int>(5));                                         // pass_on_twice: read
  }
}
// A ring of one stage: full is barrier 0, empty is barrier 1.
__global__ void ring(bool wait_first) {
  init(1, 0);
  init(1, 1);
  for (unsigned step = 0; step < 4; ++step) {
    if (threadIdx.x == 0) {
      if (wait_first) ptx::mbarrier_wait(barrier(1), (step & 1) ^ 1);
      shared<int>(0) = 1;                                        // ring: write
      if (!wait_first) ptx::mbarrier_wait(barrier(1), (step & 1) ^ 1);
      ptx::mbarrier_arrive(barrier(0));
    } else if (threadIdx.x == 32) {
      ptx::mbarrier_wait(barrier(0), step & 1);
      use(shared<int>(0));                                       // ring: read
      ptx::mbarrier_arrive(barrier(1));
    }
  }
}

// Warps 0 to 2 read what warp 3 overwrites; each releases for itself.
__global__ void three_readers(unsigned silent) {
  init(silent < 3 ? 2 : 3);
  if (threadIdx.x == 0) shared<int>(0) = 1;
  __syncthreads();
  if (threadIdx.x % 32 != 0) return;
  if (threadIdx.x < 96) {
    use(shared<int>(0));                                         // three_readers: read
    if (threadIdx.x / 32 != silent) ptx::mbarrier_arrive(barrier());
  } else {
    ptx::mbarrier_wait(barrier(), 0);
    shared<int>(0) = 2;                                          // three_readers: write
  }
}
// Thread 0 waits for phase 0 only, and runs again when phase 1 has completed, too.
__global__ void late_waiter() {
  init(1);
  if (threadIdx.x == 0) {
    ptx::mbarrier_wait(barrier(), 0);
    use(shared<int>(0));                                         // late_waiter: read
  } else if (threadIdx.x == 32) {
    shared<int>(1) = 1;
    ptx::mbarrier_arrive(barrier());
    shared<int>(0) = 1;                                          // late_waiter: write
    ptx::mbarrier_arrive(barrier());
  }
}
// The other threads use the mbarrier without a barrier after its initialization.
__global__ void init_mbarrier(bool barrier_after) {
  if (threadIdx.x == 0) ptx::mbarrier_init(barrier(), blockDim.x);  // init_mbarrier: init
  if (barrier_after) __syncthreads();
  ptx::mbarrier_arrive(barrier());                               // init_mbarrier: arrive
}
// cp.async, a fence by each thread, and a counter: the last thread reads all.
__global__ void copies_and_fences(const int* from, int* count) {
  simt::async_copy<4>(&shared<int>(threadIdx.x), from + threadIdx.x);
  simt::async_commit();
  simt::async_wait(0);
  __threadfence();
  if (atomicAdd(count, 1) != static_cast<int>(blockDim.x) - 1) return;
  __threadfence();
  for (unsigned i = 0; i < blockDim.x; ++i) use(shared<int>(i));
}
// Blocks pass on what one of their warps writes: by an mbarrier to a thread, which counts blocks. In the last
// block that thread passes it on by another mbarrier to all.
enum class Unordered { nothing, write, read };
__global__ void mbarriers_and_fences(int* values, int* count, Unordered unordered) {
  init(32, 0);
  init(1, 1);
  if (threadIdx.x < 32) {
    if (unordered == Unordered::write) ptx::mbarrier_arrive(barrier(0));
    values[32 * blockIdx.x + threadIdx.x] = 1;                   // mbarriers_and_fences: write
    if (unordered != Unordered::write) ptx::mbarrier_arrive(barrier(0));
  } else if (threadIdx.x == 32) {
    ptx::mbarrier_wait(barrier(0), 0);
    __threadfence();
    shared<int>(0) = atomicAdd(count, 1) == static_cast<int>(gridDim.x) - 1;
    __threadfence();
    if (unordered != Unordered::read) ptx::mbarrier_arrive(barrier(1));
  }
  if (unordered == Unordered::read && threadIdx.x == 64) {
    if (blockIdx.x == gridDim.x - 1) use(values[0]);             // mbarriers_and_fences: early read
    ptx::mbarrier_arrive(barrier(1));
  }
  ptx::mbarrier_wait(barrier(1), 0);
  if (unordered != Unordered::read && shared<int>(0) == 1)
    for (unsigned i = threadIdx.x; i < 32 * gridDim.x; i += 3)
      use(values[i]);                                            // mbarriers_and_fences: read
}

// A bulk copy to the beginning of shared memory, of which every thread reads a word.
__global__ void bulk_tile(const int* from, bool all_wait, bool barrier_after) {
  init(1);
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(barrier(), 4 * blockDim.x);
    ptx::bulk_load(&shared<int>(0), from, 4 * blockDim.x, barrier());  // bulk_tile: copy
  }
  if (all_wait || threadIdx.x == 0) ptx::mbarrier_wait(barrier(), 0);
  if (barrier_after) __syncthreads();
  use(shared<int>(threadIdx.x));                                 // bulk_tile: read
}
__global__ void bulk_without_wait(const int* from, bool wait) {
  init(1);
  ptx::bulk_load(&shared<int>(0), from, 16, barrier());          // bulk_without_wait: copy
  if (wait) {
    ptx::mbarrier_arrive_expect_tx(barrier(), 16);
    ptx::mbarrier_wait(barrier(), 0);
  }
  use(shared<int>(0));                                           // bulk_without_wait: read
  if (!wait) {
    ptx::mbarrier_arrive_expect_tx(barrier(), 16);
    ptx::mbarrier_wait(barrier(), 0);
  }
}
__global__ void copy_without_init(const int* from) { ptx::bulk_load(&shared<int>(0), from, 16, barrier()); }
// The second copy overwrites what threads read.
__global__ void bulk_refill(const int* from, bool barrier_between) {
  init(1, 0);
  init(1, 1);
  for (int step = 0; step < 2; ++step) {
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(barrier(step), 4 * blockDim.x);
      ptx::bulk_load(&shared<int>(0), from, 4 * blockDim.x, barrier(step));  // bulk_refill: copy
    }
    ptx::mbarrier_wait(barrier(step), 0);
    use(shared<int>(threadIdx.x));                               // bulk_refill: read
    if (barrier_between) __syncthreads();
  }
}

// A warpgroup multiplies zeros; afterwards thread 0 overwrites an operand.
__device__ ptx::SharedMatrix operand(int at) {
  return {&shared<int>(at), 128, 256, ptx::MatrixSwizzle::none};
}
enum class Release { no_wait, only_own_wait, all_warps };
__global__ void product(Release release) {
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) shared<int>(i) = 0;
  ptx::async_proxy_fence();
  __syncthreads();
  float d[4] = {};
  const ptx::SharedMatrix a = operand(0), b = operand(512);
  ptx::wgmma_fence();
  ptx::wgmma<__nv_bfloat16, 8>(d, ptx::descriptor(a), ptx::descriptor(b), false);  // product: wgmma
  ptx::wgmma_commit();
  if (release != Release::no_wait) ptx::wgmma_wait<0>();
  if (release == Release::all_warps) __syncthreads();
  if (threadIdx.x == 0) shared<int>(512) = 1;                    // product: write
  if (release == Release::no_wait) ptx::wgmma_wait<0>();
}
__device__ void read_operands() {
  float d[4] = {};
  const uint64_t a = ptx::descriptor(operand(0)), b = ptx::descriptor(operand(512));
  ptx::wgmma_fence();
  ptx::wgmma<__nv_bfloat16, 8>(d, a, b, false);                  // fences: wgmma
  ptx::wgmma_commit();
  ptx::wgmma_wait<0>();
}
// The threads write both operands. A fence is called by the last thread to run only, by all before or after
// they write, or after the barrier by the first warp or by all.
enum class Fences { none, of_one_writer, too_early, of_writers, of_a_reading_warp, of_readers };
__global__ void written_operands(Fences fences) {
  if (fences == Fences::too_early) ptx::async_proxy_fence();
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) shared<int>(i) = 0;  // fences: write
  if (fences == Fences::of_writers || (fences == Fences::of_one_writer && threadIdx.x == 127))
    ptx::async_proxy_fence();
  __syncthreads();
  if (fences == Fences::of_readers || (fences == Fences::of_a_reading_warp && threadIdx.x < 32))
    ptx::async_proxy_fence();
  read_operands();
}
// Another warpgroup writes them, and an mbarrier orders the product after that.
__global__ void passed_operands(bool fenced) {
  init(128, 0);
  if (threadIdx.x < 128) {
    ptx::mbarrier_wait(barrier(0), 0);
    read_operands();
  } else {
    for (unsigned i = threadIdx.x - 128; i < 800; i += 128) shared<int>(i) = 0;  // fences: passed write
    if (fenced) ptx::async_proxy_fence();
    ptx::mbarrier_arrive(barrier(0));
  }
}
// A bulk copy writes them, which needs no fence.
__global__ void loaded_operands(const int* from) {
  init(1, 0);
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(barrier(0), 3200);
    ptx::bulk_load(&shared<int>(0), from, 3200, barrier(0));
  }
  ptx::mbarrier_wait(barrier(0), 0);
  read_operands();
}
// Operands that cp.async writes, and a fence before or after the wait for them.
__global__ void copied_operands(const int* from, bool fence_after) {
  for (unsigned i = 4 * threadIdx.x; i < 1024; i += 4 * blockDim.x)
    ptx::cp_async<16>(&shared<int>(static_cast<int>(i)), from + i, true);  // fences: copy
  ptx::cp_async_commit();
  if (!fence_after) ptx::async_proxy_fence();
  ptx::cp_async_wait<0>();
  if (fence_after) ptx::async_proxy_fence();
  __syncthreads();
  read_operands();
}

// The accumulators of two products in flight: reads one of the first, and writes one of the second.
enum class Early { nothing, read, write, wide_read };
__global__ void accumulate(Early early) {
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) shared<int>(i) = 0;
  ptx::async_proxy_fence();
  __syncthreads();
  float first[4] = {}, second[4] = {};
  const ptx::SharedMatrix a{&shared<int>(0), 128, 256, ptx::MatrixSwizzle::none};
  const ptx::SharedMatrix b{&shared<int>(512), 128, 256, ptx::MatrixSwizzle::none};
  ptx::wgmma_fence();
  ptx::wgmma<__nv_bfloat16, 8>(first, ptx::descriptor(a), ptx::descriptor(b), true);  // accumulate: first
  ptx::wgmma_commit();
  ptx::wgmma<__nv_bfloat16, 8>(second, ptx::descriptor(a), ptx::descriptor(b), true);  // accumulate: second
  ptx::wgmma_commit();
  if (early == Early::read && threadIdx.x == 77) use(static_cast<int>(first[3]));  // accumulate: early read
  ptx::wgmma_wait<1>();
  use(static_cast<int>(first[3]));
  if (early == Early::write && threadIdx.x == 5) second[1] = 1;  // accumulate: early write
  if (early == Early::wide_read && threadIdx.x == 9)
    simt::store<16>(&shared<int>(640), second);  // accumulate: early wide read
  ptx::wgmma_wait<0>();
  second[1] += 1;
  use(static_cast<int>(second[1]));
}

// ----------------------------------------------------------------------------------------------------------

using RaceCheckAsync = RaceCheck;

TEST_F(RaceCheckAsync, MbarriersOrder) {
  expect_silent([&] { launch(2, 64, 4096, nullptr, pass_on, true, true); });
  const Finding finding = expect_race("pass_on: write", "pass_on: read",
                                      [&] { launch(1, 64, 4096, nullptr, pass_on, true, false); });
  EXPECT_TRUE(says(finding, "nor an mbarrier")) << finding.text;
  expect_race("pass_on: write", "pass_on: read",
              [&] { launch(1, 64, 4096, nullptr, pass_on, false, true); });
  expect_silent([&] { launch(1, 96, 4096, nullptr, pass_on_twice, true); });
  expect_race("pass_on_twice: write", "pass_on_twice: read",
              [&] { launch(1, 96, 4096, nullptr, pass_on_twice, false); });
}

TEST_F(RaceCheckAsync, StageMustBeReleasedBeforeItIsFilled) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    simt::set_seed(seed);
    expect_silent([&] { launch(1, 64, 4096, nullptr, ring, true); });
    expect_silent([&] { launch(1, 64, 4096, nullptr, pass_on, true, true); });
  }
  simt::set_seed(std::nullopt);
  expect_race("ring: write", "ring: read", [&] { launch(1, 64, 4096, nullptr, ring, false); });
}

TEST_F(RaceCheckAsync, EveryReaderMustReleaseTheStage) {
  expect_silent([&] { launch(1, 128, 4096, nullptr, three_readers, 3u); });
  for (const unsigned silent : {0u, 1u, 2u}) {
    const Finding finding = expect_race("three_readers: read", "three_readers: write", [&] {
      launch(1, 128, 4096, nullptr, three_readers, silent);
    });
    EXPECT_EQ(finding.earlier->thread.x, 32 * silent);
  }
}

TEST_F(RaceCheckAsync, WaitLearnsOnlyOfItsPhase) {
  expect_race("late_waiter: write", "late_waiter: read",
              [&] { launch(1, 64, 4096, nullptr, late_waiter); });
}

TEST_F(RaceCheckAsync, InitializationMustBeOrdered) {
  expect_silent([&] { launch(2, 64, 4096, nullptr, init_mbarrier, true); });
  expect_race("init_mbarrier: init", "init_mbarrier: arrive",
              [&] { launch(1, 64, 4096, nullptr, init_mbarrier, false); });
}

TEST_F(RaceCheckAsync, UninitializedMbarrierIsAFault) {
  int* const from = allocate<int>(64);
  CUDA_OK(cudaMemset(from, 0, 256));
  EXPECT_EQ(simt::start_check(), cudaSuccess);
  launch(1, 1, 4096, nullptr, copy_without_init, from);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  simt::stop_check();
  cudaDeviceReset();
}

TEST_F(RaceCheckAsync, CopiesAreOrderedByFences) {
  int* const from = allocate<int>(65);
  CUDA_OK(cudaMemset(from, 0, 260));
  expect_silent([&] { launch(1, 64, 256, nullptr, copies_and_fences, from, from + 64); });
  CUDA_OK(cudaFree(from));
}

TEST_F(RaceCheckAsync, FencesFollowMbarriers) {
  int* const values = allocate<int>(97);
  CUDA_OK(cudaMemset(values, 0, 388));
  const auto run = [&](Unordered unordered) {
    CUDA_OK(cudaMemset(values + 96, 0, 4));
    launch(3, 96, 4096, nullptr, mbarriers_and_fences, values, values + 96, unordered);
  };
  expect_silent([&] { run(Unordered::nothing); });
  expect_race("mbarriers_and_fences: write", "mbarriers_and_fences: read", [&] { run(Unordered::write); });
  expect_race("mbarriers_and_fences: write", "mbarriers_and_fences: early read",
              [&] { run(Unordered::read); });
  CUDA_OK(cudaFree(values));
}

TEST_F(RaceCheckAsync, BulkCopies) {
  int* const from = allocate<int>(64);
  CUDA_OK(cudaMemset(from, 0, 256));
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    expect_silent([&] { launch(2, 64, 4096, nullptr, bulk_tile, from, true, false); });
    expect_silent([&] { launch(2, 64, 4096, nullptr, bulk_tile, from, false, true); });
    expect_silent([&] { launch(1, 1, 4096, nullptr, bulk_without_wait, from, true); });
    const Finding finding =
        expect_one(Problem::unfinished_copy, "bulk_without_wait: copy", "bulk_without_wait: read",
                   [&] { launch(1, 1, 4096, nullptr, bulk_without_wait, from, false); });
    EXPECT_TRUE(says(finding, "an unfinished bulk copy")) << finding.text;
    EXPECT_TRUE(says(finding, "phase of the copy's mbarrier")) << finding.text;
    expect_silent([&] { launch(1, 64, 4096, nullptr, bulk_refill, from, true); });
    expect_race("bulk_refill: read", "bulk_refill: copy",
                [&] { launch(1, 64, 4096, nullptr, bulk_refill, from, false); });
  }
  simt::set_late_copies(false);
  // Only thread 0 waits, and the copy has finished when the others read, or is issued after they did.
  const Finding finding = expect_race("bulk_tile: copy", "bulk_tile: read", [&] {
    launch(1, 64, 4096, nullptr, bulk_tile, from, false, false);
  });
  const bool copy_first = finding.earlier->kind == simt::AccessKind::bulk_copy_store;
  EXPECT_EQ(says(finding, "has not waited for the phase of the copy's mbarrier"), copy_first) << finding.text;
  CUDA_OK(cudaFree(from));
}

TEST_F(RaceCheckAsync, OperandsOfProducts) {
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    expect_silent([&] { launch(2, 128, 4096, nullptr, product, Release::all_warps); });
    const Finding unfinished =
        expect_one(Problem::unfinished_copy, "product: wgmma", "product: write",
                   [&] { launch(1, 128, 4096, nullptr, product, Release::no_wait); });
    EXPECT_TRUE(says(unfinished, "an operand of an unfinished wgmma")) << unfinished.text;
    const Finding race = expect_race("product: wgmma", "product: write",
                                     [&] { launch(1, 128, 4096, nullptr, product, Release::only_own_wait); });
    EXPECT_TRUE(says(race, "reads by wgmma")) << race.text;
    EXPECT_TRUE(says(race, "Not all four warps of the warpgroup have waited")) << race.text;
  }
  simt::set_late_copies(false);
}

// Late mode does not find them where the last thread to run calls a fence: it publishes the writes of all.
TEST_F(RaceCheckAsync, EveryWriterOfAnOperandNeedsAProxyFence) {
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    expect_silent([&] { launch(2, 128, 4096, nullptr, written_operands, Fences::of_writers); });
    expect_silent([&] { launch(2, 128, 4096, nullptr, written_operands, Fences::of_readers); });
    const Finding one = expect_one(
        Problem::missing_proxy_fence, "fences: write", "fences: wgmma",
        [&] { launch(1, 128, 4096, nullptr, written_operands, Fences::of_one_writer); });
    EXPECT_NE(one.earlier->thread.x, 127u) << one.text;
    EXPECT_TRUE(says(one, "a missing fence.proxy.async between accesses to byte")) << one.text;
  }
  simt::set_late_copies(false);
  for (const Fences fences : {Fences::none, Fences::too_early, Fences::of_a_reading_warp})
    expect_one(Problem::missing_proxy_fence, "fences: write", "fences: wgmma",
               [&] { launch(1, 128, 4096, nullptr, written_operands, fences); });
  expect_silent([&] { launch(1, 256, 4096, nullptr, passed_operands, true); });
  expect_one(Problem::missing_proxy_fence, "fences: passed write", "fences: wgmma",
             [&] { launch(1, 256, 4096, nullptr, passed_operands, false); });
}

TEST_F(RaceCheckAsync, TheFenceOfACopiedOperandFollowsTheWait) {
  int* const from = allocate<int>(1024);
  CUDA_OK(cudaMemset(from, 0, 4096));
  expect_silent([&] { launch(1, 128, 4096, nullptr, loaded_operands, from); });
  expect_silent([&] { launch(1, 128, 4096, nullptr, copied_operands, from, true); });
  const Finding early = expect_one(Problem::missing_proxy_fence, "fences: copy", "fences: wgmma", [&] {
    launch(1, 128, 4096, nullptr, copied_operands, from, false);
  });
  EXPECT_TRUE(says(early, "must call fence.proxy.async after its wait")) << early.text;
  CUDA_OK(cudaFree(from));
}

TEST_F(RaceCheckAsync, AccumulatorsOfProducts) {
  for (const bool late : {false, true}) {
    simt::set_late_copies(late);
    expect_silent([&] { launch(2, 256, 4096, nullptr, accumulate, Early::nothing); });
    const Finding read = expect_one(Problem::unfinished_copy, "accumulate: first", "accumulate: early read",
                                    [&] { launch(1, 128, 4096, nullptr, accumulate, Early::read); });
    EXPECT_EQ(read.space, AccessSpace::registers);
    EXPECT_EQ(read.offset, 3u);
    EXPECT_EQ(read.access.thread.x, 77u);
    EXPECT_TRUE(says(read, "the result of an unfinished wgmma, accumulator register 3")) << read.text;
    EXPECT_TRUE(says(read, "has not waited for the group of this product")) << read.text;
    const Finding write =
        expect_one(Problem::unfinished_copy, "accumulate: second", "accumulate: early write",
                   [&] { launch(1, 128, 4096, nullptr, accumulate, Early::write); });
    EXPECT_EQ(write.offset, 1u);
    EXPECT_EQ(write.access.kind, simt::AccessKind::store) << write.text;
    const Finding wide =
        expect_one(Problem::unfinished_copy, "accumulate: second", "accumulate: early wide read",
                   [&] { launch(1, 128, 4096, nullptr, accumulate, Early::wide_read); });
    EXPECT_EQ(wide.access.bytes, 16) << wide.text;
  }
  simt::set_late_copies(false);
}

}  // namespace
