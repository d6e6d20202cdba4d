// The table of GPUs, and the occupancy computed from it.
#include <gtest/gtest.h>
#include <simt/gpus.h>

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>

#include <random>
#endif

namespace simt {
namespace {

TEST(Gpus, AreFoundByName) {
  EXPECT_EQ(gpu_names(), "t4, a100, rtx4090, h100, h200, b200, rtx5090");
  for (const GpuProperties& gpu : gpus()) EXPECT_EQ(gpu_named(gpu.name), &gpu);
  for (const char* unknown : {"", "H100", "h100 ", "v100"}) EXPECT_EQ(gpu_named(unknown), nullptr) << unknown;
}

// The products' data sheets state the fp32 peak: 2 operations a lane and cycle.
TEST(Gpus, ClocksAgreeWithThePublishedPeaks) {
  EXPECT_NEAR(gpu_named("t4")->fp32_tflops(), 8.1, 0.05);
  EXPECT_NEAR(gpu_named("a100")->fp32_tflops(), 19.5, 0.05);
  EXPECT_NEAR(gpu_named("rtx4090")->fp32_tflops(), 82.6, 0.05);
  EXPECT_NEAR(gpu_named("h100")->fp32_tflops(), 66.9, 0.05);
  EXPECT_NEAR(gpu_named("h200")->fp32_tflops(), 66.9, 0.05);
  EXPECT_NEAR(gpu_named("b200")->fp32_tflops(), 75, 0.6);  // the data sheet rounds eight GPUs to 600
  EXPECT_NEAR(gpu_named("rtx5090")->fp32_tflops(), 104.8, 0.05);
}

TEST(Gpus, EveryFactIsThere) {
  for (const GpuProperties& gpu : gpus()) {
    EXPECT_GT(gpu.multiprocessors, 0) << gpu.name;
    EXPECT_EQ(gpu.shared_kb, gpu.shared_block_kb + gpu.shared_reserved_kb) << gpu.name;
    for (const double fact :
         {gpu.boost_ghz, gpu.dram_gb_s, gpu.l2_mb, gpu.l2_gb_s, gpu.fp16_tflops, gpu.graph_node_us})
      EXPECT_GT(fact, 0) << gpu.name;
    EXPECT_EQ(gpu.tf32_tflops > 0, gpu.major >= 8) << gpu.name;
    EXPECT_GT(gpu.l2_gb_s, gpu.dram_gb_s) << gpu.name;
  }
}

struct Case {
  const char* gpu;
  int threads;
  int64_t shared;
  std::optional<int> registers;
  int blocks;
  const char* limit;
};

// From cuda_occupancy.h of CUDA 13.0, the source of NVIDIA's occupancy calculator.
constexpr Case kCases[] = {
    {"t4", 32, 0, 32, 16, "blocks"},
    {"t4", 1024, 0, 64, 1, "warps"},
    {"t4", 256, 48 << 10, 32, 1, "shared memory"},
    {"t4", 32, 10800, 32, 5, "shared memory"},  // rounded to 11008 bytes
    {"a100", 256, 0, 64, 4, "registers"},
    {"a100", 128, 0, 33, 12, "registers"},  // rounded to 40
    {"a100", 96, 0, 40, 16, "registers"},   // 12 warps a scheduler
    {"a100", 128, 84 << 10, 251, 1, "shared memory"},
    {"a100", 128, 55808, 32, 2, "shared memory"},  // 54.5 KB and 1 KB for the system
    {"rtx4090", 1024, 0, 32, 1, "warps"},          // 32 of 48
    {"h100", 64, 12709, 32, 16, "shared memory"},  // with 1 KB for the system rounded to 13824 bytes
    {"h100", 128, 84 << 10, 251, 2, "registers"},
    {"h100", 48, 0, 32, 32, "blocks"},      // two warps a block
    {"h100", 1024, 0, 65, 0, "registers"},  // more registers than a block can have
    {"h100", 128, 227 << 10, 32, 1, "shared memory"},
    {"b200", 512, 0, 128, 1, "registers"},
    {"rtx5090", 512, 0, 32, 3, "warps"},
};

TEST(Occupancy, IsThatOfTheCalculator) {
  for (const Case& c : kCases) {
    const Occupancy got = occupancy_of(*gpu_named(c.gpu), c.threads, c.shared, c.registers);
    EXPECT_EQ(got.blocks, c.blocks) << c.gpu << ", " << c.threads << " threads";
    EXPECT_EQ(got.warps, c.blocks * ((c.threads + 31) / 32));
    EXPECT_STREQ(got.limit, c.limit) << c.gpu << ", " << c.threads << " threads";
  }
}

TEST(Occupancy, ImpossibleBlocks) {
  const GpuProperties& h100 = *gpu_named("h100");
  EXPECT_STREQ(occupancy_of(h100, 1025, 0, 16).limit, "threads of a block");
  EXPECT_EQ(occupancy_of(h100, 1025, 0, 16).blocks, 0);
  EXPECT_EQ(occupancy_of(h100, 32, (227 << 10) + 1, 16).blocks, 0);
  EXPECT_EQ(occupancy_of(h100, 32, 0, 256).blocks, 0);
}

TEST(Occupancy, WithoutRegistersTheyAreNoLimit) {
  EXPECT_EQ(occupancy_of(*gpu_named("a100"), 256, 0, std::nullopt).blocks, 8);
  EXPECT_EQ(occupancy_of(*gpu_named("a100"), 256, 0, 64).blocks, 4);
}

#if __has_include(<cuda_occupancy.h>)

int blocks_of_calculator(const GpuProperties& gpu, int threads, int64_t shared, int registers) {
  cudaOccDeviceProp device;
  device.computeMajor = gpu.major;
  device.computeMinor = gpu.minor;
  device.maxThreadsPerBlock = kMostThreadsPerBlock;
  device.maxThreadsPerMultiprocessor = gpu.threads();
  device.regsPerBlock = device.regsPerMultiprocessor = gpu.registers;
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 << 10;
  device.sharedMemPerMultiprocessor = static_cast<size_t>(gpu.shared_kb) << 10;
  device.sharedMemPerBlockOptin = static_cast<size_t>(gpu.shared_block_kb) << 10;
  device.reservedSharedMemPerBlock = static_cast<size_t>(gpu.shared_reserved_kb) << 10;
  device.numSms = 1;
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = kMostThreadsPerBlock;
  kernel.numRegs = registers;
  kernel.sharedSizeBytes = 0;
  kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = static_cast<size_t>(shared);
  kernel.numBlockBarriers = 1;
  const cudaOccDeviceState state;
  cudaOccResult result;
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state,
                                                                     threads, static_cast<size_t>(shared));
  return error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1;
}

TEST(Occupancy, TheCasesAreThoseOfTheToolkit) {
  for (const Case& c : kCases)
    EXPECT_EQ(blocks_of_calculator(*gpu_named(c.gpu), c.threads, c.shared, *c.registers), c.blocks)
        << c.gpu << ", " << c.threads << " threads";
}

TEST(Occupancy, AgreesWithTheToolkitOnRandomKernels) {
  std::mt19937 random(1);
  const auto between = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  for (int i = 0; i < 20000; ++i) {
    const GpuProperties& gpu = gpus()[static_cast<size_t>(between(0, static_cast<int>(gpus().size()) - 1))];
    const int threads = between(1, 1024), registers = between(1, 255);
    const int shared = between(0, 3) == 0 ? 0 : between(0, gpu.shared_block_kb << 10);
    ASSERT_EQ(occupancy_of(gpu, threads, shared, registers).blocks,
              blocks_of_calculator(gpu, threads, shared, registers))
        << gpu.name << ": " << threads << " threads, " << shared << " bytes, " << registers << " registers";
  }
}

#endif

}  // namespace
}  // namespace simt
