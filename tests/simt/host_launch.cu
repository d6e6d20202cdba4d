// Launches: the arguments that a kernel receives, and every launch that a GPU refuses.
#include "host_support.h"

#ifdef __SIMT__
#include <simt/cluster.h>
#endif

namespace simt_test {
namespace {

struct Mixed {
  double scale;
  char tag;
  int* counts;
};

__global__ void fill(int* out, Mixed mixed, short offset, float factor) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = static_cast<int>(mixed.scale * i * factor) + offset + mixed.tag + mixed.counts[0];
}

__global__ void count_blocks(int* counts) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0) ++counts[block];
}

__global__ void nothing() {}
__global__ void touch(int* p) {
  if (blockIdx.x == 0 && threadIdx.x == 0) p[0] = 1;
}

using HostLaunch = HostTest;

TEST_F(HostLaunch, ArgumentsOfEveryKindArriveByValue) {
  int* out = allocate<int>(64);
  int* counts = allocate<int>(1);
  const int seven = 7;
  CUDA_OK(cudaMemcpy(counts, &seven, sizeof(int), cudaMemcpyHostToDevice));
  Mixed mixed{2.0, 1, counts};
  const auto config = shape(2, 32);
  CUDA_OK(cudaLaunchKernelEx(&config, fill, out, mixed, 100, 1.5));  // int and double are converted
  mixed.scale = -1;                                                  // after the launch, so without effect
  std::vector<int> host(64);
  CUDA_OK(cudaMemcpy(host.data(), out, 64 * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) ASSERT_EQ(host[static_cast<size_t>(i)], 3 * i + 108);
  CUDA_OK(cudaFree(out));
  CUDA_OK(cudaFree(counts));
}

TEST_F(HostLaunch, EveryBlockOfAGridRunsOnce) {
  for (const auto seed : {std::optional<uint64_t>{}, std::optional<uint64_t>{5}}) {
    simt::set_seed(seed);
    for (const dim3 grid : {dim3(1), dim3(7), dim3(1000), dim3(5, 4, 3), dim3(1, 300), dim3(1, 1, 17)}) {
      const size_t blocks = size_t{grid.x} * grid.y * grid.z;
      int* counts = allocate<int>(blocks);
      CUDA_OK(cudaMemset(counts, 0, blocks * sizeof(int)));
      auto config = shape(1, 1);
      config.gridDim = grid;
      config.blockDim = dim3(2, 2, 2);
      CUDA_OK(cudaLaunchKernelEx(&config, count_blocks, counts));
      std::vector<int> host(blocks);
      CUDA_OK(cudaMemcpy(host.data(), counts, blocks * sizeof(int), cudaMemcpyDeviceToHost));
      EXPECT_EQ(host, std::vector<int>(blocks, 1));
      CUDA_OK(cudaFree(counts));
    }
  }
}

TEST_F(HostLaunch, RefusesShapesThatNoGpuSupports) {
  const auto refused = [](dim3 grid, dim3 block) {
    auto config = shape(1, 1);
    config.gridDim = grid;
    config.blockDim = block;
    CUDA_ERROR(cudaLaunchKernelEx(&config, nothing), cudaErrorInvalidConfiguration);
  };
  refused(dim3(1), dim3(0));
  refused(dim3(1), dim3(1025));
  refused(dim3(1), dim3(1, 1025));
  refused(dim3(1), dim3(1, 1, 65));
  refused(dim3(1), dim3(32, 33));
  refused(dim3(1), dim3(1u << 31, 2));
  refused(dim3(0), dim3(1));
  refused(dim3(1, 0), dim3(1));
  refused(dim3(1u << 31), dim3(1));
  refused(dim3(1, 65536), dim3(1));
  refused(dim3(1, 1, 65536), dim3(1));
  auto config = shape(1, 1024);
  CUDA_OK(cudaLaunchKernelEx(&config, nothing));
  config.blockDim = dim3(16, 16, 4);
  CUDA_OK(cudaLaunchKernelEx(&config, nothing));
  CUDA_OK(cudaDeviceSynchronize());
}

TEST_F(HostLaunch, SharedMemoryBeyond48KbNeedsOptingIn) {
  auto config = shape(1, 1, nullptr, 48 << 10);
  CUDA_OK(cudaLaunchKernelEx(&config, nothing));
  config.dynamicSmemBytes += 1;
  CUDA_ERROR(cudaLaunchKernelEx(&config, nothing), cudaErrorInvalidValue);
  CUDA_OK(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 << 10));
  CUDA_OK(cudaLaunchKernelEx(&config, nothing));
  config.dynamicSmemBytes = 227 << 10;
  CUDA_OK(cudaLaunchKernelEx(&config, nothing));
  config.dynamicSmemBytes += 1;
  CUDA_ERROR(cudaLaunchKernelEx(&config, nothing), cudaErrorInvalidValue);
  CUDA_ERROR(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, (227 << 10) + 1),
             cudaErrorInvalidValue);
  CUDA_ERROR(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, -1),
             cudaErrorInvalidValue);

  // The setting belongs to one device.
  config.dynamicSmemBytes = 100 << 10;
  CUDA_OK(cudaSetDevice(1));
  CUDA_ERROR(cudaLaunchKernelEx(&config, nothing), cudaErrorInvalidValue);
  cudaFuncAttributes attributes;
  CUDA_OK(cudaFuncGetAttributes(&attributes, nothing));
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 48 << 10);
  CUDA_OK(cudaSetDevice(0));
  CUDA_OK(cudaFuncGetAttributes(&attributes, nothing));
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 227 << 10);
  CUDA_OK(cudaDeviceSynchronize());
}

TEST_F(HostLaunch, RefusesForeignAndDeadStreams) {
  const cudaStream_t stream = make_stream();
  const auto config = shape(1, 1, stream);
  CUDA_OK(cudaSetDevice(1));
  CUDA_ERROR(cudaLaunchKernelEx(&config, nothing), cudaErrorInvalidResourceHandle);
  CUDA_OK(cudaSetDevice(0));
  CUDA_OK(cudaLaunchKernelEx(&config, nothing));
  CUDA_OK(cudaStreamDestroy(stream));
  CUDA_ERROR(cudaLaunchKernelEx(&config, nothing), cudaErrorInvalidResourceHandle);
  CUDA_OK(cudaDeviceSynchronize());
}

TEST_F(HostLaunch, RefusesUnsupportedLaunches) {
  const auto config = shape(1, 1);
  CUDA_ERROR(cudaLaunchKernelEx(nullptr, nothing), cudaErrorInvalidValue);
  CUDA_ERROR(cudaLaunchKernelEx(&config, static_cast<void (*)()>(nullptr)), cudaErrorInvalidDeviceFunction);
}

// Counts the blocks that find themselves in a cluster of 6, at the place that their index says.
__global__ void count_in_clusters(int* count) {
#ifdef __SIMT__
  const unsigned size = simt::cluster_size(), rank = simt::cluster_rank();
#elif __CUDA_ARCH__ >= 900
  const unsigned size = __clusterSizeInBlocks(), rank = __clusterRelativeBlockRank();
#else
  const unsigned size = 0, rank = 0;
#endif
  if (size == 6 && rank == blockIdx.x % 2 + 2 * (blockIdx.y % 3)) atomicAdd(count, 1);
}

TEST_F(HostLaunch, Clusters) {
  int* const count = allocate<int>(1);
  CUDA_OK(cudaMemset(count, 0, sizeof(int)));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  auto config = shape(1, 1);
  config.gridDim = {40, 15, 2};
  config.attrs = &attribute;
  config.numAttrs = 1;
  attribute.val.clusterDim = {2, 3, 1};
  CUDA_OK(cudaLaunchKernelEx(&config, count_in_clusters, count));
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(read(count), 40 * 15 * 2);
  for (const auto& [x, y, z, error] : {std::tuple(1, 1, 1, cudaSuccess), std::tuple(8, 1, 1, cudaSuccess),
                                       std::tuple(0, 1, 1, cudaErrorInvalidValue),
                                       std::tuple(3, 1, 1, cudaErrorInvalidClusterSize),  // 40 = 13 * 3 + 1
                                       std::tuple(1, 1, 3, cudaErrorInvalidClusterSize),  // 2 planes
                                       std::tuple(10, 1, 1, cudaErrorInvalidClusterSize)}) {  // beyond 8
    attribute.val.clusterDim = {static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
    EXPECT_EQ(cudaLaunchKernelEx(&config, count_in_clusters, count), error) << x << " " << y << " " << z;
    cudaGetLastError();
  }
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(read(count), 40 * 15 * 2);
}

// A bad pointer invalidates the context: every later call returns the error until the device is reset.
TEST_F(HostLaunch, AFaultIsStickyUntilReset) {
  CUDA_OK(cudaSetDevice(2));
  int on_the_host = 0;
  int* survivor = allocate<int>(1);
  const cudaStream_t stream = make_stream();
  const cudaEvent_t event = make_event();
  testing::internal::CaptureStderr();
  const auto config = shape(4, 4);
  CUDA_OK(cudaLaunchKernelEx(&config, touch, &on_the_host));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("touch"), std::string::npos) << said;
  EXPECT_NE(said.find(argument("argument 1")), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), kInterpreted ? 3 : 1) << said;
  EXPECT_EQ(simt::last_fault().error, cudaErrorIllegalAddress);
  EXPECT_EQ(on_the_host, 0);

  void* more = nullptr;
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaMalloc(&more, 4), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaFree(survivor), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaMemcpy(&on_the_host, survivor, 4, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaLaunchKernelEx(&config, nothing), cudaErrorIllegalAddress);

  CUDA_OK(cudaSetDevice(1));  // the other devices still work
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);

  EXPECT_EQ(cudaSetDevice(2), cudaErrorIllegalAddress) << "but it is current";
  CUDA_OK(cudaDeviceReset());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  CUDA_ERROR(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  CUDA_ERROR(cudaEventQuery(event), cudaErrorInvalidResourceHandle);
  CUDA_ERROR(cudaFree(survivor), cudaErrorInvalidValue);
  int* fresh = allocate<int>(1);
  CUDA_OK(cudaLaunchKernelEx(&config, touch, fresh));
  EXPECT_EQ(read(fresh), 1);
  CUDA_OK(cudaFree(fresh));
}

TEST_F(HostLaunch, FreedMemoryIsNotAValidArgument) {
  CUDA_OK(cudaSetDevice(2));
  int* p = allocate<int>(1);
  CUDA_OK(cudaFree(p));
  testing::internal::CaptureStderr();
  const auto config = shape(1, 1);
  CUDA_OK(cudaLaunchKernelEx(&config, touch, p));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  testing::internal::GetCapturedStderr();
  CUDA_OK(cudaDeviceReset());
}

TEST_F(HostLaunch, ErrorsBelongToTheirThreadAndAreReturnedOnce) {
  EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(1000)), "unrecognized error code");
}

TEST_F(HostLaunch, OccupancyFollowsThreadsAndSharedMemory) {
  int blocks = 0;
  CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 256, 0));
  EXPECT_EQ(blocks, 8);
  CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 32, 100 << 10));
  EXPECT_EQ(blocks, 2);
  CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 2000, 0));
  EXPECT_EQ(blocks, 0);
}

}  // namespace
}  // namespace simt_test
