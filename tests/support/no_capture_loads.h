// NoCaptureLoads: until the end of the scope, the executor loads no kernel during a capture, as with drivers
// before CUDA 12.3. At first no kernel is loaded, because it resets the devices: the caller must have no
// memory and no streams. No effect on GPUs.
#pragma once

#include <cuda_runtime.h>  // the executor's defines __SIMT__

#ifdef __SIMT__
#include <gtest/gtest.h>
#include <simt/settings.h>
#endif

namespace rondo::test {

class NoCaptureLoads {
 public:
  NoCaptureLoads() {
#ifdef __SIMT__
    simt::set_capture_loads(false);
    for (int device = simt::settings().devices - 1; device >= 0; --device) {
      EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
      EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    }
#endif
  }
  ~NoCaptureLoads() {
#ifdef __SIMT__
    simt::set_capture_loads(true);
#endif
  }
  NoCaptureLoads(const NoCaptureLoads&) = delete;
  NoCaptureLoads& operator=(const NoCaptureLoads&) = delete;
};

}  // namespace rondo::test
