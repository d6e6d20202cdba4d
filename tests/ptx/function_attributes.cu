// Attributes of functions that only the toolkit's headers name.
#include <cooperative_groups.h>

#include "../simt/host_support.h"

namespace simt_test {
namespace {

__global__ void nothing() {}

using FunctionAttributes = HostTest;

TEST_F(FunctionAttributes, NonPortableSizesOfClustersMayBeAllowed) {
  const auto set = [](int value) {
    return cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, value);
  };
  EXPECT_EQ(set(1), cudaSuccess);
  EXPECT_EQ(set(0), cudaSuccess);
  EXPECT_EQ(set(2), cudaErrorInvalidValue);
}

TEST_F(FunctionAttributes, DynamicSharedMemoryIsWhatTheOtherBlocksLeave) {
  size_t bytes = 0;
  for (const int blocks : {1, 2, 3, 8}) {
    ASSERT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, blocks, 128), cudaSuccess);
    int possible = 0;
    ASSERT_EQ(
        cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        cudaSuccess);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&possible, nothing, 128, bytes);
    EXPECT_EQ(possible, blocks);
  }
  EXPECT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 3, 1024), cudaSuccess);
  EXPECT_EQ(bytes, 0u);
  CUDA_ERROR(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 0, 128), cudaErrorInvalidValue);
}

TEST_F(FunctionAttributes, AChannelHasTheBitsOfItsType) {
  const cudaChannelFormatDesc channel = cudaCreateChannelDesc<float2>();
  EXPECT_EQ(channel.x, 32);
  EXPECT_EQ(channel.y, 32);
  EXPECT_EQ(channel.z, 0);
  EXPECT_EQ(channel.f, cudaChannelFormatKindFloat);
}

// Each block adds its number to a sum of the first one, in the shared memory of the cluster.
__global__ void sum_of_cluster(unsigned* out) {
#if __CUDA_ARCH__ >= 900
  __shared__ unsigned sum;
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  if (cluster.block_rank() == 0) sum = 0;
  cluster.sync();
  atomicAdd(cluster.map_shared_rank(&sum, 0), cluster.block_rank() + 1);
  cluster.sync();
  if (cluster.block_rank() == 0) *out = sum;
#endif
}

cudaError_t launch_cluster(unsigned blocks, unsigned* out) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = blocks;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, sum_of_cluster, out);
}

TEST_F(FunctionAttributes, ClustersOf16BlocksNeedTheOptIn) {
  unsigned* sum = nullptr;
  ASSERT_EQ(cudaMallocManaged(&sum, sizeof *sum), cudaSuccess);
  const auto allow = [](int value) {
    return cudaFuncSetAttribute(sum_of_cluster, cudaFuncAttributeNonPortableClusterSizeAllowed, value);
  };
  int most = 0;
  cudaLaunchConfig_t config = {};
  config.gridDim = 16;
  config.blockDim = 1;
  EXPECT_EQ(launch_cluster(16, sum), cudaErrorInvalidClusterSize);
  EXPECT_EQ(cudaOccupancyMaxPotentialClusterSize(&most, sum_of_cluster, &config), cudaSuccess);
  EXPECT_EQ(most, 8);
  ASSERT_EQ(allow(1), cudaSuccess);
  EXPECT_EQ(cudaOccupancyMaxPotentialClusterSize(&most, sum_of_cluster, &config), cudaSuccess);
  EXPECT_EQ(most, 16);
  EXPECT_EQ(launch_cluster(17, sum), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch_cluster(16, sum), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(*sum, 136u);
  ASSERT_EQ(allow(0), cudaSuccess);
  EXPECT_EQ(launch_cluster(16, sum), cudaErrorInvalidClusterSize);
  cudaGetLastError();
  cudaFree(sum);
}

}  // namespace
}  // namespace simt_test
