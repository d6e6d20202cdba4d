// Linked into each test program. A kernel's fault stays on a GPU: every later CUDA call of the process fails,
// and so would all later tests. The program therefore ends in the test that failed; tools/gpu-report starts
// it again without this test. Without a device, or with a driver that is too old, it ends before the first
// test.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace rondo::test {
namespace {

// Also true while a test that failed has left a capture open on this thread: the query is then refused.
bool works(cudaError_t error) {
  // A device whose memory others have taken is not a device that failed.
  return error == cudaSuccess || error == cudaErrorNotReady || error == cudaErrorMemoryAllocation ||
         error == cudaErrorStreamCaptureUnsupported || error == cudaErrorStreamCaptureImplicit;
}

class EndAfterFault final : public testing::EmptyTestEventListener {
#ifndef __SIMT__  // the executor always has devices
  void OnTestProgramStart(const testing::UnitTest&) override {
    int devices = 0;
    const cudaError_t counted = cudaGetDeviceCount(&devices);
    if (counted == cudaSuccess) return;
    std::fprintf(stderr, "no test can run: %s (%s)\n", cudaGetErrorString(counted),
                 cudaGetErrorName(counted));
    std::exit(1);
  }
#endif

  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Failed()) return;
    // Not counted before the tests: on the executor the first call ends the time for settings.
    int devices = 0;
    const cudaError_t counted = cudaGetDeviceCount(&devices);
    if (counted == cudaErrorNoDevice) return;
    // The count is also refused with the error of the current device, which is named here.
    for (int device = 0;; ++device) {
      cudaError_t error = cudaSetDevice(device);
      if (error == cudaErrorInvalidDevice) break;  // past the last
      if (error == cudaSuccess) error = cudaStreamQuery(nullptr);
      static_cast<void>(cudaGetLastError());
      if (!works(error)) end("device " + std::to_string(device), error);
    }
    static_cast<void>(cudaSetDevice(0));
    static_cast<void>(cudaGetLastError());
    if (!works(counted)) end("CUDA", counted);
  }

  [[noreturn]] static void end(const std::string& failed, cudaError_t error) {
    std::fprintf(stderr, "%s has failed, %s: no further test can use it\n", failed.c_str(),
                 cudaGetErrorName(error));
    std::abort();
  }
};

// GoogleTest's own listener prints a test's end after this one has run.
[[maybe_unused]] const bool listens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new EndAfterFault);
  return true;
}();

}  // namespace
}  // namespace rondo::test
