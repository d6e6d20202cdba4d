// The check of mbarriers, bulk copies and wgmma.
#include <rondo/kernels/core/ptx/bulk_copy.cuh>
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
// A ring of one slot: full is barrier 0, empty is barrier 1.
__global__ void ring(bool wait_for_empty) {
  init(1, 0);
  init(1, 1);
  for (unsigned step = 0; step < 4; ++step) {
    if (threadIdx.x == 0) {
      if (wait_for_empty) ptx::mbarrier_wait(barrier(1), (step & 1) ^ 1);
      shared<int>(0) = 1;                                        // ring: write
      ptx::mbarrier_arrive(barrier(0));
    } else if (threadIdx.x == 32) {
      ptx::mbarrier_wait(barrier(0), step & 1);
      use(shared<int>(0));                                       // ring: read
      ptx::mbarrier_arrive(barrier(1));
    }
    if (!wait_for_empty) __syncwarp();  // no order between the two
  }
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
enum class Release { no_wait, own_warp, all_warps };
__global__ void product(Release release) {
  for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) shared<int>(i) = 0;
  ptx::async_proxy_fence();
  __syncthreads();
  float d[4] = {};
  const ptx::SharedMatrix a{&shared<int>(0), 128, 256, ptx::MatrixSwizzle::none};
  const ptx::SharedMatrix b{&shared<int>(512), 128, 256, ptx::MatrixSwizzle::none};
  ptx::wgmma_fence();
  ptx::wgmma<__nv_bfloat16, 8>(d, ptx::descriptor(a), ptx::descriptor(b), false);  // product: wgmma
  ptx::wgmma_commit();
  if (release != Release::no_wait) ptx::wgmma_wait<0>();
  if (release == Release::all_warps) __syncthreads();
  if (threadIdx.x == 0) shared<int>(512) = 1;                    // product: write
  if (release == Release::no_wait) ptx::wgmma_wait<0>();
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

TEST_F(RaceCheckAsync, SlotMustBeReleasedBeforeItIsFilled) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    simt::set_seed(seed);
    expect_silent([&] { launch(1, 64, 4096, nullptr, ring, true); });
    expect_silent([&] { launch(1, 64, 4096, nullptr, pass_on, true, true); });
  }
  simt::set_seed(std::nullopt);
  expect_race("ring: write", "ring: read", [&] { launch(1, 64, 4096, nullptr, ring, false); });
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
  // Only thread 0 waits, and the copy has finished when the others read.
  expect_race("bulk_tile: copy", "bulk_tile: read",
              [&] { launch(1, 64, 4096, nullptr, bulk_tile, from, false, false); });
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
                                     [&] { launch(1, 128, 4096, nullptr, product, Release::own_warp); });
    EXPECT_TRUE(says(race, "reads by wgmma")) << race.text;
  }
  simt::set_late_copies(false);
}

}  // namespace
