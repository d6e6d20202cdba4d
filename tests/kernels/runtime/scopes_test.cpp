// DeviceScope and RelaxedCaptureScope, also while a device has failed, and tensor maps of a new host thread.
#include <rondo/kernels/core/tensor_map.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/tests/support/failed_device.h>
#include <rondo/tests/support/status_checks.h>

#include <gtest/gtest.h>

#include <thread>

namespace rondo::test {
namespace {

// A new host thread has no context, and a function of the driver binds none.
TEST(NewThread, MakesTensorMaps) {
  int major = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0), cudaSuccess);
  if (major < 9) GTEST_SKIP() << "tensor maps need compute capability 9.0";
  const Buffer<float> memory(8 * 8 * 8);
  const TensorMapShape tiled = {
      .data = memory.data(), .rank = 2, .size = {8, 8}, .stride = {0, 32}, .box = {8, 8}};
  const Im2colMapShape im2col = {.data = memory.data(),
                                 .rank = 4,
                                 .size = {8, 4, 4, 2},
                                 .stride = {0, 32, 128, 512},
                                 .channels = 8,
                                 .pixels = 8};
  Status status;
  CUtensorMap map;
  std::thread([&] { status = make_tensor_map(&map, tiled); }).join();
  EXPECT_TRUE(ok(status));
  std::thread([&] { status = make_im2col_map(&map, im2col); }).join();
  EXPECT_TRUE(ok(status));
}

#ifdef __SIMT__

using Scopes = ResetDevices<3>;

TEST_F(Scopes, ADeviceThatIsCurrentIsBound) {
  std::thread([] {
    const DeviceScope scope(0);
    EXPECT_EQ(simt::devices_with_context(), std::vector<int>{0});
  }).join();
}

TEST_F(Scopes, ADeviceThatHasFailedIsReported) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  fail_device(2);
  Status status;
  {
    const DeviceScope scope(2, status);
    EXPECT_EQ(current_device(), 1);
  }
  EXPECT_EQ(status.code(), StatusCode::device_failed) << status.message();
  EXPECT_NE(status.message().find("making device 2 current"), std::string::npos) << status.message();
  EXPECT_EQ(current_device(), 1);
  EXPECT_THROW(const DeviceScope scope(2), Error);
  EXPECT_EQ(current_device(), 1);

  status = {};
  { const DeviceScope scope(0, status); }
  EXPECT_TRUE(ok(status)) << "of another device";
  EXPECT_EQ(current_device(), 1);
}

// The device to restore is not known then. No other device becomes current.
TEST_F(Scopes, TheCurrentDeviceHasFailed) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  fail_device(1);
  Status status;
  { const DeviceScope scope(2, status); }
  EXPECT_EQ(status.code(), StatusCode::device_failed) << status.message();
  EXPECT_THROW(const DeviceScope scope(2), Error);
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(current_device(), 1);
  EXPECT_EQ(simt::devices_with_context(), std::vector<int>{});
}

TEST_F(Scopes, ADeviceThatDoesNotExistChangesNothing) {
  std::thread([] {
    Status status;
    { const DeviceScope scope(99, status); }
    EXPECT_TRUE(refused(status, "making device 99 current"));
  }).join();
  EXPECT_EQ(simt::devices_with_context(), std::vector<int>{});
}

// The mode was not changed, and must not be at the end either.
TEST_F(Scopes, TheCaptureModeStaysIfADeviceHasFailed) {
  fail_device(0);
  {
    const RelaxedCaptureScope relaxed;
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  }
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  ASSERT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
}

#endif

}  // namespace
}  // namespace rondo::test
