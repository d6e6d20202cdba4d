// The forecast of a kernel from counts: each resource by hand.
#include <gtest/gtest.h>

#include <rondo/tools/rondo/profile/compiled_kernels.h>
#include <rondo/tools/rondo/profile/forecast.h>
#include <rondo/tools/rondo/profile/source_place.h>

#include <cmath>

namespace rondo::program {
namespace {

// Two multiprocessors of 4 schedulers and 128 FMA lanes at 1 GHz; 1 GB/s of memory, 4 GB/s of L2.
simt::GpuProperties small_gpu() {
  simt::GpuProperties gpu = *simt::gpu_named("h100");
  gpu.multiprocessors = 2;
  gpu.boost_ghz = 1;
  gpu.schedulers = 4;
  gpu.fp32_lanes = 128;
  gpu.shared_wavefronts = 1;
  gpu.dram_gb_s = 1;
  gpu.l2_gb_s = 4;
  gpu.l2_mb = 1;
  gpu.graph_node_us = 2;
  return gpu;
}

// One launch of `blocks` blocks of 128 threads.
simt::KernelProfile launched(unsigned blocks) {
  simt::KernelProfile profile;
  profile.grid = blocks;
  profile.block = 128;
  profile.launches = profile.observed_launches = 1;
  profile.blocks = profile.observed_blocks = blocks;
  return profile;
}

simt::AccessCounts global_loads(uint64_t requests, uint64_t sectors) {
  simt::AccessCounts counts;
  counts.bytes = 4;
  counts.requests = requests;
  counts.lanes = 32 * requests;
  counts.sectors = sectors;
  counts.least_sectors = 4 * requests;
  return counts;
}

double seconds(const KernelForecast& forecast, Resource resource) {
  return forecast.seconds[static_cast<size_t>(resource)];
}

TEST(Forecast, MemoryNeedsTheDistinctBytesOfTheLaunch) {
  simt::KernelProfile profile = launched(2);
  profile.launch_bytes_read = 3000;
  profile.launch_bytes_written = 1000;
  const KernelForecast result = forecast(profile, small_gpu(), {});
  EXPECT_DOUBLE_EQ(seconds(result, Resource::memory), 4000 / 1e9);
  EXPECT_DOUBLE_EQ(seconds(forecast(profile, small_gpu(), {}, {.warm = true}), Resource::memory), 0);
}

TEST(Forecast, WarmDataThatExceedsTheCacheComesFromMemory) {
  simt::KernelProfile profile = launched(2);
  profile.launch_bytes_read = 3 << 20;
  EXPECT_GT(seconds(forecast(profile, small_gpu(), {}, {.warm = true}), Resource::memory), 0);
}

TEST(Forecast, CacheNeedsTheDistinctBytesOfEachBlock) {
  simt::KernelProfile profile = launched(2);
  profile.block_bytes = 8000;
  EXPECT_DOUBLE_EQ(seconds(forecast(profile, small_gpu(), {}), Resource::l2), 8000 / 4e9);
}

// 100 wavefronts of shared memory, and 40 requests of 8 sectors each, which take 2 cycles each.
TEST(Forecast, SharedMemoryAndL1ShareAPipe) {
  simt::KernelProfile profile = launched(2);
  profile.accesses.push_back(global_loads(40, 320));
  simt::AccessCounts& shared = profile.accesses.emplace_back();
  shared.space = simt::AccessSpace::shared;
  shared.bytes = 4;
  shared.requests = 100;
  shared.wavefronts = 100;
  EXPECT_DOUBLE_EQ(seconds(forecast(profile, small_gpu(), {}), Resource::shared), (100 + 80) / 2 / 1e9);
}

TEST(Forecast, ARequestTakesACycleEvenForOneSector) {
  simt::KernelProfile profile = launched(2);
  profile.accesses.push_back(global_loads(40, 40));
  EXPECT_DOUBLE_EQ(seconds(forecast(profile, small_gpu(), {}), Resource::shared), 40 / 2 / 1e9);
}

TEST(Forecast, MultiplyAddsAndIssueSlots) {
  simt::KernelProfile profile = launched(2);
  profile.warp_multiply_adds = 800;
  profile.instructions = 1600;
  const KernelForecast result = forecast(profile, small_gpu(), {});
  EXPECT_DOUBLE_EQ(seconds(result, Resource::fma),
                   800.0 / 4 / 2 / 1e9);  // 4 warps per cycle and multiprocessor
  EXPECT_DOUBLE_EQ(seconds(result, Resource::issue), 1600.0 / 4 / 2 / 1e9);
  EXPECT_EQ(result.bound, Resource::launch);
  EXPECT_DOUBLE_EQ(result.min_seconds(), 2e-6);
}

TEST(Forecast, TensorCores) {
  simt::GpuProperties gpu = small_gpu();
  gpu.tf32_tflops = 2, gpu.fp16_tflops = 4;
  simt::KernelProfile profile = launched(2);
  profile.tf32_multiply_adds = 1000;
  profile.narrow_multiply_adds = 4000;
  EXPECT_DOUBLE_EQ(seconds(forecast(profile, gpu, {}), Resource::tensor), 2000 / 2e12 + 8000 / 4e12);
  const simt::KernelProfile uneven = [&] {
    simt::KernelProfile three = launched(3);
    three.tf32_multiply_adds = 3000;
    return three;
  }();
  EXPECT_DOUBLE_EQ(seconds(forecast(uneven, gpu, {}), Resource::tensor), 8000 / 2e12) << "as four blocks";
  gpu.tf32_tflops = 0;
  EXPECT_TRUE(std::isinf(seconds(forecast(uneven, gpu, {}), Resource::tensor)));
}

// Three equal blocks on two multiprocessors take as long as four.
TEST(Forecast, TheBusiestMultiprocessorCounts) {
  simt::KernelProfile profile = launched(3);
  profile.warp_multiply_adds = 1200;
  const KernelForecast result = forecast(profile, small_gpu(), {});
  EXPECT_DOUBLE_EQ(seconds(result, Resource::fma), 1600.0 / 4 / 2 / 1e9);
  EXPECT_DOUBLE_EQ(result.tail_idle_fraction, 0.25);
}

TEST(Forecast, ScalesFromObservedBlocksAndLaunches) {
  simt::KernelProfile profile = launched(8);
  profile.observed_blocks = 2;
  profile.launches = 3;
  profile.warp_multiply_adds = 100;
  const KernelTotals totals = totals_of(profile);
  EXPECT_DOUBLE_EQ(totals.warp_multiply_adds, 100.0 * 4 * 3);
  EXPECT_DOUBLE_EQ(totals.blocks, 8);
  EXPECT_DOUBLE_EQ(seconds(forecast(profile, small_gpu(), {}), Resource::launch), 3 * 2e-6);
}

// Observed blocks that share nothing: all blocks share nothing.
TEST(Forecast, DistinctBytesWithoutOverlapGrowWithTheBlocks) {
  simt::KernelProfile profile = launched(8);
  profile.observed_blocks = 2;
  profile.block_bytes = 2 * 320;
  profile.launch_bytes_read = 2 * 320;
  EXPECT_DOUBLE_EQ(totals_of(profile).launch_bytes, 8 * 320);
}

TEST(Forecast, DistinctBytesAreThoseOfAllLaunches) {
  simt::KernelProfile profile = launched(3 * 8);  // blocks of all observed launches
  profile.launches = 6;
  profile.observed_launches = 3;
  profile.observed_blocks = 3 * 2;
  profile.block_bytes = 3 * 2 * 320;
  profile.launch_bytes_read = 3 * 2 * 320;
  EXPECT_DOUBLE_EQ(totals_of(profile).launch_bytes, 6 * 8 * 320);
}

// Observed blocks that touch the same bytes: so do all blocks.
TEST(Forecast, DistinctBytesOfEqualBlocksDoNotGrow) {
  simt::KernelProfile profile = launched(8);
  profile.observed_blocks = 4;
  profile.block_bytes = 4 * 320;
  profile.launch_bytes_read = 320;
  EXPECT_NEAR(totals_of(profile).launch_bytes, 320, 1);
}

// Each block draws a tenth of 1000 bytes at random; 4 blocks touch 1000 (1 - 0.9^4) of them.
TEST(Forecast, DistinctBytesOfOverlappingBlocksSaturate) {
  simt::KernelProfile profile = launched(100);
  profile.observed_blocks = 4;
  profile.block_bytes = 4 * 100'000;
  profile.launch_bytes_read = 343'900;
  EXPECT_NEAR(totals_of(profile).launch_bytes, 1'000'000, 100);
}

TEST(Forecast, DistinctBytesAreAtMostTheAllocations) {
  simt::KernelProfile profile = launched(100);
  profile.observed_blocks = 4;
  profile.block_bytes = 4 * 320;
  profile.launch_bytes_read = 4 * 320;
  profile.allocated_bytes = 5000;
  EXPECT_DOUBLE_EQ(totals_of(profile).launch_bytes, 5000);
}

TEST(Forecast, RegistersLimitTheOccupancy) {
  const simt::GpuProperties& h100 = *simt::gpu_named("h100");
  EXPECT_EQ(forecast(launched(8), h100, 32).occupancy.warps, 64);
  EXPECT_EQ(forecast(launched(8), h100, 255).occupancy.warps, 8);
}

TEST(KernelName, LosesNamespacesReturnTypeAndParameters) {
  EXPECT_EQ(short_kernel_name("rondo::(anonymous namespace)::gemm_01_naive_kernel(rondo::GemmArguments)"),
            "gemm_01_naive_kernel");
  EXPECT_EQ(short_kernel_name(
                "void rondo::(anonymous namespace)::kernel<rondo::Tile<8, 16, false>, (rondo::Order)0>("
                "rondo::(anonymous namespace)::Parameters)"),
            "kernel<Tile<8, 16, false>, (Order)0>");
  EXPECT_EQ(short_kernel_name("at 0x1234"), "0x1234");
}

TEST(SourcePlace, IsTheInnermostLineOutsideOfHelpers) {
  simt::AccessCounts access;
  EXPECT_EQ(source_place(access), "?");
  access.inlined = {{"build/include/rondo_core/rondo/kernels/core/vec.cuh", 100, "load"},
                    {"include/rondo_kernels/rondo/kernels/gemm/loader.cuh", 20, "copy"},
                    {"../../kernels/gemm/gemm.cu", 7, "kernel"}};
  EXPECT_EQ(source_place(access), "kernels/gemm/loader.cuh:20 (gemm.cu:7)");
  access.inlined.erase(access.inlined.begin() + 1);
  EXPECT_EQ(source_place(access), "kernels/gemm/gemm.cu:7");
}

}  // namespace
}  // namespace rondo::program
