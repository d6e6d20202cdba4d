// A test program with a kernel that traps, for gpu_report_test.py: the fault must not reach the other tests.
#include <gtest/gtest.h>

#include <rondo/kernels/core/launch.cuh>

namespace rondo::test {
namespace {

__global__ void trap_kernel(bool traps) {
  if (traps) __trap();
}

cudaError_t run(bool traps) {
  EXPECT_TRUE(launch("trap", {}, nullptr, trap_kernel, traps).ok());
  return cudaStreamSynchronize(nullptr);
}

TEST(Fault, Before) { EXPECT_EQ(run(false), cudaSuccess); }
TEST(Fault, Itself) { EXPECT_EQ(run(true), cudaSuccess); }
TEST(Fault, Without) { EXPECT_EQ(1, 2) << "a failure that leaves the device alone ends nothing"; }
TEST(Fault, After) { EXPECT_EQ(run(false), cudaSuccess); }

}  // namespace
}  // namespace rondo::test
