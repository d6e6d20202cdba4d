// An exercise: a launch that was never checked.
//
// A launch that CUDA refuses runs nothing. Its result is an error code; the output keeps its old values, and
// the program continues. A block of n threads for n values works up to 1024 values, the most threads of a
// block.
//
// Questions.
//   1. Which call reports the error in a program that checks every call but the launch?
//   2. A fault *in* a kernel is not reported by its launch. By what, and why?
//   3. What must be checked after a launch with <<<>>>, which returns nothing?

#include <gtest/gtest.h>

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/tests/exercises/support.h>
#include <rondo/kernels/core/launch.cuh>

#include <vector>

namespace rondo::test {
namespace {

__global__ void add_one(float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += 1;
}

// Wrong on purpose: one block has all threads, and the error is dropped.
void add_one_unchecked(float* x, int n, cudaStream_t stream) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(static_cast<unsigned>(n));
  config.stream = stream;
  static_cast<void>(cudaLaunchKernelEx(&config, add_one, x, n));
}

// The same shape; the error is returned.
Status add_one_checked(float* x, int n, cudaStream_t stream) {
  return launch("add_one", {.block_x = n}, stream, add_one, x, n);
}

// The mend: blocks of a fixed size, as many as needed.
Status add_one_in_blocks(float* x, int n, cudaStream_t stream) {
  constexpr int kBlock = 256;
  return launch("add_one", {.grid_x = ceil_div(n, kBlock), .block_x = kBlock}, stream, add_one, x, n);
}

struct UncheckedLaunch : testing::Test {
  UncheckedLaunch() : x(std::vector<float>(2000, 0.0f)) { static_cast<void>(cudaGetLastError()); }
  float* data() { return x.data(); }
  std::vector<float> values() {
    stream.synchronize();
    return x.download();
  }
  Buffer<float> x;
  Stream stream;
};

TEST_F(UncheckedLaunch, LeavesTheOldValuesAndAnErrorForLater) {
  add_one_unchecked(data(), 1000, stream);
  EXPECT_EQ(values()[0], 1) << "a block of 1000 threads";

  add_one_unchecked(data(), 2000, stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess) << "nothing has failed, because nothing ran";
  EXPECT_EQ(values()[0], 1) << "the old value";
  const cudaError_t error = cudaGetLastError();
  show("x[0] is ", values()[0], " instead of 2; cudaGetLastError() later: ", cudaGetErrorName(error));
  EXPECT_NE(error, cudaSuccess) << "is kept for whoever asks next";
}

TEST_F(UncheckedLaunch, StatusHasTheKernelAndItsShape) {
  const Status status = add_one_checked(data(), 2000, stream);
  show(name_of(status.code()), ": ", status.message());
  EXPECT_EQ(status.code(), StatusCode::bad_argument);
  EXPECT_NE(status.message().find("add_one, 1 x 1 x 1 blocks of 2000 threads"), std::string::npos);
  EXPECT_NE(status.message().find("cudaErrorInvalid"), std::string::npos);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "from_cuda() has cleared the error";
}

TEST_F(UncheckedLaunch, BlocksOfAFixedSizeTakeAnyNumberOfValues) {
  throw_if_error(add_one_in_blocks(data(), 2000, stream));
  EXPECT_EQ(values(), std::vector<float>(2000, 1.0f));
}

}  // namespace
}  // namespace rondo::test
