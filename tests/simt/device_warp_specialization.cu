#include <rondo/kernels/core/ptx/warp_specialization.cuh>

#include "device_testing.h"

using namespace simt_test;

namespace {

TEST(WarpRoles, TheLowestLaneIsElected) {
  for (const unsigned mask : {0xFFFFFFFFu, 0xFFFF0000u, 0x80000000u, 0x00000120u}) {
    std::atomic<unsigned> elected{0};
    run_ok({1, 32}, [&] {
      const unsigned lane = 1u << threadIdx.x;
      if ((mask & lane) && rondo::ptx::elect_one(mask)) elected += lane;
    });
    EXPECT_EQ(elected, mask & -mask);
  }
}

TEST(WarpRoles, AllLanesOfTheMaskMustTakePart) {
  NOT_UNDER_CHECK();
  const int elect_line = __LINE__ + 2;
  const simt::Fault fault = run({1, 64}, [] {
    if (threadIdx.x % 32 != 3) rondo::ptx::elect_one();
    __syncthreads();
  });
  EXPECT_EQ(fault.error, cudaErrorLaunchFailure);
  EXPECT_NE(fault.message.find("device_warp_specialization.cu:" + std::to_string(elect_line)),
            std::string::npos)
      << fault.message;
}

}  // namespace
