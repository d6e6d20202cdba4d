// Attributes of streams.
#include "host_support.h"

namespace simt_test {
namespace {

using HostAttributes = HostTest;

__global__ void nothing() {}

cudaStreamAttrValue window_of(size_t bytes, float ratio, cudaAccessProperty hit, cudaAccessProperty miss) {
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.num_bytes = bytes;
  value.accessPolicyWindow.hitRatio = ratio;
  value.accessPolicyWindow.hitProp = hit;
  value.accessPolicyWindow.missProp = miss;
  return value;
}

TEST_F(HostAttributes, AreKeptByEachStream) {
  const cudaStream_t one = make_stream(), other = make_stream();
  cudaStreamAttrValue value = {};
  CUDA_OK(cudaStreamGetAttribute(one, cudaStreamAttributeSynchronizationPolicy, &value));
  EXPECT_EQ(value.syncPolicy, cudaSyncPolicyAuto);
  value.syncPolicy = cudaSyncPolicyYield;
  CUDA_OK(cudaStreamSetAttribute(one, cudaStreamAttributeSynchronizationPolicy, &value));
  value = window_of(0, 0.5f, cudaAccessPropertyPersisting, cudaAccessPropertyStreaming);
  CUDA_OK(cudaStreamSetAttribute(one, cudaStreamAttributeAccessPolicyWindow, &value));

  CUDA_OK(cudaStreamGetAttribute(other, cudaStreamAttributeSynchronizationPolicy, &value));
  EXPECT_EQ(value.syncPolicy, cudaSyncPolicyAuto);
  CUDA_OK(cudaStreamCopyAttributes(other, one));
  CUDA_OK(cudaStreamGetAttribute(other, cudaStreamAttributeSynchronizationPolicy, &value));
  EXPECT_EQ(value.syncPolicy, cudaSyncPolicyYield);
  value = {};
  CUDA_OK(cudaStreamGetAttribute(other, cudaStreamAttributeAccessPolicyWindow, &value));
  EXPECT_EQ(value.accessPolicyWindow.hitRatio, 0.5f);
  EXPECT_EQ(value.accessPolicyWindow.hitProp, cudaAccessPropertyPersisting);
  EXPECT_EQ(value.accessPolicyWindow.missProp, cudaAccessPropertyStreaming);

  value.priority = -5;
  CUDA_OK(cudaStreamSetAttribute(one, cudaStreamAttributePriority, &value));
  CUDA_OK(cudaStreamGetAttribute(one, cudaStreamAttributePriority, &value));
  EXPECT_EQ(value.priority, 0);
  CUDA_OK(cudaStreamDestroy(one));
  CUDA_OK(cudaStreamDestroy(other));
}

TEST_F(HostAttributes, RefuseValuesThatNoDeviceHas) {
  const cudaStream_t stream = make_stream();
  int most = -1;
  CUDA_OK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxAccessPolicyWindowSize, 0));
  const auto refused = [&](const cudaStreamAttrValue& value) {
    CUDA_ERROR(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value),
               cudaErrorInvalidValue);
  };
  const auto normal = cudaAccessPropertyNormal, persisting = cudaAccessPropertyPersisting;
  refused(window_of(static_cast<size_t>(most) + 1, 1, normal, normal));
  refused(window_of(0, 1.5f, normal, normal));
  refused(window_of(0, -1, normal, normal));
  refused(window_of(0, 1, normal, persisting));
  refused(window_of(0, 1, static_cast<cudaAccessProperty>(3), normal));

  cudaStreamAttrValue value = {};
  value.syncPolicy = static_cast<cudaSynchronizationPolicy>(5);
  CUDA_ERROR(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value),
             cudaErrorInvalidValue);
  CUDA_ERROR(cudaStreamSetAttribute(stream, cudaLaunchAttributeClusterDimension, &value),
             cudaErrorInvalidValue);
  CUDA_ERROR(cudaStreamGetAttribute(stream, cudaLaunchAttributeClusterDimension, &value),
             cudaErrorInvalidValue);
  CUDA_ERROR(cudaStreamSetAttribute(stream, cudaStreamAttributePriority, nullptr), cudaErrorInvalidValue);
  CUDA_ERROR(cudaStreamGetAttribute(stream, cudaStreamAttributePriority, nullptr), cudaErrorInvalidValue);
  CUDA_OK(cudaStreamDestroy(stream));
  CUDA_ERROR(cudaStreamGetAttribute(stream, cudaStreamAttributePriority, &value),
             cudaErrorInvalidResourceHandle);
}

TEST_F(HostAttributes, StreamsOfTwoDevicesDoNotShareThem) {
  const cudaStream_t one = make_stream();
  CUDA_OK(cudaSetDevice(1));
  const cudaStream_t other = make_stream();
  CUDA_ERROR(cudaStreamCopyAttributes(other, one), cudaErrorInvalidValue);
  CUDA_OK(cudaStreamDestroy(other));
  CUDA_OK(cudaStreamDestroy(one));
}

TEST_F(HostAttributes, AWindowOfALaunchIsCheckedLikewise) {
  auto config = shape(1, 1);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeAccessPolicyWindow;
  attribute.val = window_of(0, 1, cudaAccessPropertyPersisting, cudaAccessPropertyNormal);
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA_OK(cudaLaunchKernelEx(&config, nothing));
  attribute.val.accessPolicyWindow.hitRatio = 2;
  CUDA_ERROR(cudaLaunchKernelEx(&config, nothing), cudaErrorInvalidValue);
  CUDA_OK(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace simt_test
