// Memory pools.
#include "host_support.h"

#include <cstdint>

namespace simt_test {
namespace {

class HostPool : public HostTest {
 protected:
  static cudaMemPoolProps properties(int device, size_t most = 0) {
    cudaMemPoolProps of_pool = {};
    of_pool.allocType = cudaMemAllocationTypePinned;
    of_pool.location = {cudaMemLocationTypeDevice, device};
    of_pool.maxSize = most;
    return of_pool;
  }
  static uint64_t attribute(cudaMemPool_t pool, cudaMemPoolAttr name) {
    uint64_t value = ~uint64_t{0};
    EXPECT_EQ(cudaMemPoolGetAttribute(pool, name, &value), cudaSuccess);
    return value;
  }
};

__global__ void increment(int* value) { *value += 1; }

TEST_F(HostPool, CountsWhatIsInUse) {
  cudaMemPool_t pool = nullptr;
  const cudaMemPoolProps wanted = properties(2, 4096);
  CUDA_OK(cudaMemPoolCreate(&pool, &wanted));
  CUDA_OK(cudaSetDevice(2));
  const cudaStream_t stream = make_stream();
  size_t before = 0, between = 0, after = 0, total = 0;
  CUDA_OK(cudaMemGetInfo(&before, &total));
  void *a = nullptr, *b = nullptr, *c = nullptr;
  CUDA_OK(cudaMallocFromPoolAsync(&a, 1000, pool, stream));
  CUDA_OK(cudaMallocFromPoolAsync(&b, 3096, pool, stream));
  CUDA_ERROR(cudaMallocFromPoolAsync(&c, 1, pool, stream), cudaErrorMemoryAllocation);
  CUDA_OK(cudaMemGetInfo(&between, &total));
  EXPECT_EQ(between, before - 4096);
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 4096u);
  CUDA_OK(cudaFreeAsync(b, stream));
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemCurrent), 1000u);
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrReservedMemCurrent), 1000u);
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemHigh), 4096u);
  uint64_t zero = 0, one = 1;
  CUDA_ERROR(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &one), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &zero), cudaErrorInvalidValue);
  CUDA_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrUsedMemHigh), 1000u);
  CUDA_OK(cudaMallocFromPoolAsync(&b, 3096, pool, stream));  // there is room again
  CUDA_OK(cudaMemPoolTrimTo(pool, 0));
  CUDA_OK(cudaMemPoolDestroy(pool));
  CUDA_OK(cudaMemsetAsync(a, 0, 1000, stream));  // stays valid
  CUDA_OK(cudaFreeAsync(a, stream));
  CUDA_OK(cudaFree(b));
  CUDA_OK(cudaStreamSynchronize(stream));
  CUDA_OK(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
  CUDA_ERROR(cudaMallocFromPoolAsync(&a, 1, pool, stream), cudaErrorInvalidResourceHandle);
  CUDA_OK(cudaStreamDestroy(stream));
}

TEST_F(HostPool, SettingsAreKept) {
  cudaMemPool_t pool = nullptr;
  const cudaMemPoolProps wanted = properties(0);
  CUDA_OK(cudaMemPoolCreate(&pool, &wanted));
  for (const auto name : {cudaMemPoolReuseFollowEventDependencies, cudaMemPoolReuseAllowOpportunistic,
                          cudaMemPoolReuseAllowInternalDependencies}) {
    int value = 0;
    CUDA_OK(cudaMemPoolGetAttribute(pool, name, &value));
    EXPECT_EQ(value, 1);
    value = 0;
    CUDA_OK(cudaMemPoolSetAttribute(pool, name, &value));
    value = 5;
    CUDA_OK(cudaMemPoolGetAttribute(pool, name, &value));
    EXPECT_EQ(value, 0);
  }
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrReleaseThreshold), 0u);
  uint64_t threshold = UINT64_MAX;
  CUDA_OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  EXPECT_EQ(attribute(pool, cudaMemPoolAttrReleaseThreshold), UINT64_MAX);
  CUDA_ERROR(cudaMemPoolGetAttribute(pool, static_cast<cudaMemPoolAttr>(99), &threshold),
             cudaErrorInvalidValue);
  CUDA_OK(cudaMemPoolDestroy(pool));
}

TEST_F(HostPool, ADeviceHasACurrentPool) {
  CUDA_OK(cudaSetDevice(1));
  cudaMemPool_t standard = nullptr, current = nullptr, own = nullptr, other = nullptr;
  CUDA_OK(cudaDeviceGetDefaultMemPool(&standard, 1));
  CUDA_OK(cudaDeviceGetMemPool(&current, 1));
  EXPECT_EQ(current, standard);
  CUDA_OK(cudaDeviceGetDefaultMemPool(&other, 0));
  EXPECT_NE(other, standard);
  const cudaMemPoolProps wanted = properties(1);
  CUDA_OK(cudaMemPoolCreate(&own, &wanted));
  CUDA_ERROR(cudaDeviceSetMemPool(0, own), cudaErrorInvalidValue);  // of another device
  CUDA_OK(cudaDeviceSetMemPool(1, own));
  CUDA_OK(cudaDeviceGetMemPool(&current, 1));
  EXPECT_EQ(current, own);
  void* p = nullptr;
  CUDA_OK(cudaMallocAsync(&p, 640, nullptr));
  EXPECT_EQ(attribute(own, cudaMemPoolAttrUsedMemCurrent), 640u);
  EXPECT_EQ(attribute(standard, cudaMemPoolAttrUsedMemCurrent), 0u);
  CUDA_OK(cudaFree(p));
  CUDA_ERROR(cudaMemPoolDestroy(standard), cudaErrorInvalidValue);
  CUDA_OK(cudaMemPoolDestroy(own));
  CUDA_OK(cudaDeviceGetMemPool(&current, 1));
  EXPECT_EQ(current, standard);
}

TEST_F(HostPool, OtherDevicesNeedAccessToThePool) {
  CUDA_OK(cudaSetDevice(0));
  cudaMemPool_t pool = nullptr;
  const cudaMemPoolProps wanted = properties(0);
  CUDA_OK(cudaMemPoolCreate(&pool, &wanted));
  int* value = nullptr;
  CUDA_OK(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&value), sizeof(int), pool, nullptr));
  CUDA_OK(cudaMemset(value, 0, sizeof(int)));
  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(cudaDeviceEnablePeerAccess(0, 0));  // does not concern pools
  cudaMemLocation peer = {cudaMemLocationTypeDevice, 1};
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtRead;
  CUDA_OK(cudaMemPoolGetAccess(&flags, pool, &peer));
  EXPECT_EQ(flags, cudaMemAccessFlagsProtNone);

  cudaMemAccessDesc access = {peer, cudaMemAccessFlagsProtReadWrite};
  CUDA_OK(cudaMemPoolSetAccess(pool, &access, 1));
  CUDA_OK(cudaMemPoolGetAccess(&flags, pool, &peer));
  EXPECT_EQ(flags, cudaMemAccessFlagsProtReadWrite);
  const auto config = shape(1, 1);
  CUDA_OK(cudaLaunchKernelEx(&config, increment, value));
  CUDA_OK(cudaDeviceSynchronize());
  int result = 0;
  CUDA_OK(cudaMemcpy(&result, value, sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT_EQ(result, 1);

  access.flags = cudaMemAccessFlagsProtNone;
  CUDA_OK(cudaMemPoolSetAccess(pool, &access, 1));
  testing::internal::CaptureStderr();  // the executor reports the fault there
  CUDA_OK(cudaLaunchKernelEx(&config, increment, value));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  testing::internal::GetCapturedStderr();
  EXPECT_NE(simt::last_fault().message.find("cudaMemPoolSetAccess()"), std::string::npos)
      << simt::last_fault().message;
  cudaDeviceReset();
  cudaGetLastError();
  CUDA_OK(cudaSetDevice(0));
  access = {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtNone};
  CUDA_ERROR(cudaMemPoolSetAccess(pool, &access, 1), cudaErrorInvalidValue);  // its own device
  access.flags = cudaMemAccessFlagsProtRead;
  CUDA_ERROR(cudaMemPoolSetAccess(pool, &access, 1), cudaErrorInvalidValue);
  CUDA_OK(cudaFree(value));
  CUDA_OK(cudaMemPoolDestroy(pool));
}

TEST_F(HostPool, RefusesWhatItCannotDo) {
  cudaMemPool_t pool = nullptr;
  cudaMemPoolProps wanted = properties(0);
  wanted.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  CUDA_ERROR(cudaMemPoolCreate(&pool, &wanted), cudaErrorNotSupported);
  wanted = properties(0);
  wanted.location.type = cudaMemLocationTypeHost;
  CUDA_ERROR(cudaMemPoolCreate(&pool, &wanted), cudaErrorNotSupported);
  wanted = properties(simt::settings().devices);
  CUDA_ERROR(cudaMemPoolCreate(&pool, &wanted), cudaErrorInvalidDevice);
  wanted = properties(0);
  wanted.allocType = cudaMemAllocationTypeInvalid;
  CUDA_ERROR(cudaMemPoolCreate(&pool, &wanted), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace simt_test
