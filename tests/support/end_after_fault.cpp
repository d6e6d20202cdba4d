// Linked into each test program. A kernel's fault stays on a GPU: every later CUDA call of the process fails, and
// so would all later tests. The program therefore ends in the test that failed; tools/gpu-report starts it again
// without this test.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace rondo::test {
namespace {

class EndAfterFault final : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    int devices = 0;
    if (!test.result()->Failed() || cudaGetDeviceCount(&devices) != cudaSuccess) return;
    for (int device = 0; device < devices; ++device) {
      cudaError_t error = cudaSetDevice(device);
      if (error == cudaSuccess) error = cudaStreamQuery(nullptr);
      static_cast<void>(cudaGetLastError());
      // A device whose memory others have taken is not a device that failed.
      if (error == cudaSuccess || error == cudaErrorNotReady || error == cudaErrorMemoryAllocation) continue;
      std::fprintf(stderr, "device %d has failed, %s: no further test can use it\n", device,
                   cudaGetErrorName(error));
      std::abort();
    }
    static_cast<void>(cudaSetDevice(0));
  }
};

// GoogleTest's own listener prints a test's end after this one has run.
[[maybe_unused]] const bool listens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new EndAfterFault);
  return true;
}();

}  // namespace
}  // namespace rondo::test
