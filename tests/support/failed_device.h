// fail_device(), reset_device() and ResetDevices: for tests of what follows the failure of a device. Only the
// executor can reset one.
#pragma once

#include <cuda_runtime.h>  // the executor's defines __SIMT__

#ifdef __SIMT__
#include <gtest/gtest.h>
#include <simt/faults.h>
#include <simt/settings.h>
#endif

namespace rondo::test {

// Releases everything of `device` and takes its error away. Device 0 is current afterwards.
inline cudaError_t reset_device(int device) {
  static_cast<void>(cudaSetDevice(device));  // returns the error of a device that has failed
  const cudaError_t reset = cudaDeviceReset();
  static_cast<void>(cudaSetDevice(0));
  static_cast<void>(cudaGetLastError());
  return reset;
}

#ifdef __SIMT__
// Every later call with `device` current fails. The current device stays.
inline void fail_device(int device) {
  int current = 0;
  void* memory = nullptr;
  ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&memory, 8), cudaSuccess);
  testing::internal::CaptureStderr();  // the executor reports the failure
  simt::fail_copy(1);
  static_cast<void>(
      cudaMemcpyAsync(memory, static_cast<char*>(memory) + 4, 4, cudaMemcpyDeviceToDevice, nullptr));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorNvlinkUncorrectable);
  testing::internal::GetCapturedStderr();
  static_cast<void>(cudaSetDevice(current));
}

// Before and after each test the first kDevices devices work, have no context, and device 0 is current.
template <int kDevices>
class ResetDevices : public testing::Test {
 protected:
  void SetUp() override {
    if (simt::settings().devices < kDevices) GTEST_SKIP() << "needs " << kDevices << " devices";
    reset();
  }
  void TearDown() override { reset(); }

  static int current_device() {
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    return device;
  }

 private:
  static void reset() {
    for (int device = kDevices - 1; device >= 0; --device) ASSERT_EQ(reset_device(device), cudaSuccess);
    ASSERT_EQ(cudaDeviceReset(), cudaSuccess);  // reset_device() makes device 0 current
  }
};
#endif

}  // namespace rondo::test
