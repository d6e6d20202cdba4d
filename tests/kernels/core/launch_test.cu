// launch() and the parts that only kernels include: shared memory and packs.

#include <gtest/gtest.h>

#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>
#include <rondo/kernels/core/shared.cuh>

#include <algorithm>

#ifdef __SIMT__
#include <simt/faults.h>
#endif

namespace rondo::test {
namespace {

__global__ void write_position_kernel(int* out, int width) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  out[y * width + x] = 1000 * y + x;
}

TEST(Launch, EveryThreadOfEveryBlockRunsOnce) {
  const Stream stream;
  const int width = 3 * 4, height = 2 * 5;
  GuardedBuffer<int> out(width * height);
  ASSERT_TRUE(ok(launch("write_position", {.grid_x = 3, .grid_y = 2, .block_x = 4, .block_y = 5}, stream,
                        write_position_kernel, out.data(), width)));
  std::vector<int> want;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) want.push_back(1000 * y + x);
  EXPECT_TRUE(all_equal_bits(out.download(), want));
}

TEST(Launch, AnEmptyGridLaunchesNothing) {
  const Stream stream;
  EXPECT_TRUE(ok(launch("empty", {.grid_x = 0}, stream, write_position_kernel, nullptr, 0)));
  EXPECT_TRUE(ok(launch("empty", {.grid_y = 0}, stream, write_position_kernel, nullptr, 0)));
  stream.synchronize();
}

TEST(Launch, ABadShapeIsRefusedWithTheKernelsName) {
  const Stream stream;
  const auto try_shape = [&](LaunchShape shape) {
    return launch("the_kernel", shape, stream, write_position_kernel, nullptr, 0);
  };
  EXPECT_TRUE(refused(try_shape({.grid_x = int64_t{1} << 31}), "the_kernel: the grid 2147483648 x 1 x 1"));
  EXPECT_TRUE(refused(try_shape({.grid_y = 65536}), "the_kernel: the grid 1 x 65536 x 1"));
  EXPECT_TRUE(refused(try_shape({.grid_z = 65536}), "the_kernel: the grid 1 x 1 x 65536"));
  EXPECT_TRUE(refused(try_shape({.block_x = 1025}), "the_kernel"));
  EXPECT_TRUE(refused(try_shape({.block_x = 0}), "the_kernel"));
  EXPECT_FALSE(try_shape({.shared_bytes = 1 << 20}).ok());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_TRUE(ok(launch("fine", {.grid_x = 0}, stream, write_position_kernel, nullptr, 0)));
}

#ifdef __SIMT__
TEST(Launch, AMissingKernelImageNamesTheOption) {
  const Stream stream;
  const auto start = [&](int64_t shared_bytes) {
    return launch("the_kernel", {.shared_bytes = shared_bytes}, stream, write_position_kernel, nullptr, 0);
  };
  simt::set_kernel_images(false);
  const Status status = start(0), opting_in = start(50 << 10);
  simt::set_kernel_images(true);
  EXPECT_TRUE(refused(status, "-DCMAKE_CUDA_ARCHITECTURES=90 (cudaErrorNoKernelImageForDevice)"));
  EXPECT_TRUE(refused(opting_in, "-DCMAKE_CUDA_ARCHITECTURES=90 (cudaErrorNoKernelImageForDevice)"));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}
#endif

struct Shared {
  alignas(128) float values[64];
};

__global__ void reverse_kernel(float* out, const float* in, int* misalignment) {
  Shared& shared = shared_memory<Shared>();
  shared.values[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = shared.values[63 - threadIdx.x];
  if (threadIdx.x == 0) *misalignment = static_cast<int>(reinterpret_cast<uintptr_t>(&shared) % 128);
}

TEST(SharedMemory, IsOneAlignedStructSharedByTheBlock) {
  const Stream stream;
  std::vector<float> values = normal_values(64, 1);
  const GuardedBuffer<float> in(values);
  GuardedBuffer<float> out(64);
  GuardedBuffer<int> misalignment(1);
  ASSERT_TRUE(ok(launch("reverse", {.block_x = 64, .shared_bytes = sizeof(Shared)}, stream, reverse_kernel,
                        out.data(), in.data(), misalignment.data())));
  std::reverse(values.begin(), values.end());
  EXPECT_TRUE(all_equal_bits(out.download(), values));
  EXPECT_EQ(misalignment.download()[0], 0);
}

TEST(Pack, WidthFollowsLengthAndEveryPointer) {
  alignas(16) static float memory[16];
  EXPECT_EQ(pack_width(8, memory), 4);
  EXPECT_EQ(pack_width(6, memory), 2);
  EXPECT_EQ(pack_width(7, memory), 1);
  EXPECT_EQ(pack_width(8, memory + 1), 1);
  EXPECT_EQ(pack_width(8, memory + 2), 2);
  EXPECT_EQ(pack_width(8, memory, memory + 4), 4);
  EXPECT_EQ(pack_width(8, memory, memory + 2), 2);
  EXPECT_EQ(pack_width(8, memory + 2, memory + 3), 1);
  EXPECT_EQ(pack_width(4, reinterpret_cast<unsigned char*>(memory) + 4), 4);
  EXPECT_EQ(pack_width(4, reinterpret_cast<unsigned char*>(memory) + 2), 2);
}

}  // namespace
}  // namespace rondo::test
