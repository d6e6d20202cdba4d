// An exercise: a missing event between two streams.
//
// One stream computes a gradient; another copies it, so that the next kernel can start meanwhile. Operations
// of two streams are unordered, also if the host enqueues one after the other. The copy needs an event of the
// first stream.
//
// Questions.
//   1. Why does cudaStreamSynchronize(compute) in place of the event give the right result, and what does it
//      cost?
//   2. Which second event is needed if the first stream then overwrites the gradient?
//   3. Both streams are created with cudaStreamCreate(), and between kernel and copy a kernel is launched in
//      the default stream. Why does the mistake not show?

#include <gtest/gtest.h>

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/tests/exercises/support.h>
#include <rondo/tests/support/random_order.h>
#include <rondo/kernels/core/launch.cuh>

namespace rondo::test {
namespace {

__global__ void compute_gradient(float* gradient) { *gradient = 5; }

// Wrong on purpose: nothing orders the copy after the kernel.
void copy_without_event(float* copy, float* gradient, cudaStream_t compute, cudaStream_t copies) {
  throw_if_error(launch("compute_gradient", {}, compute, compute_gradient, gradient));
  RONDO_CUDA_THROW(cudaMemcpyAsync(copy, gradient, sizeof(float), cudaMemcpyDeviceToDevice, copies));
}

void copy_after_event(float* copy, float* gradient, cudaStream_t compute, cudaStream_t copies) {
  const Event computed;
  throw_if_error(launch("compute_gradient", {}, compute, compute_gradient, gradient));
  RONDO_CUDA_THROW(cudaEventRecord(computed, compute));
  RONDO_CUDA_THROW(cudaStreamWaitEvent(copies, computed));
  RONDO_CUDA_THROW(cudaMemcpyAsync(copy, gradient, sizeof(float), cudaMemcpyDeviceToDevice, copies));
}

using Version = void(float*, float*, cudaStream_t, cudaStream_t);

// The number of seeds below 32 under which the copy is not the gradient.
int wrong_seeds(Version* version) {
  throw_if_error(
      load("compute_gradient", compute_gradient));  // a first launch may wait, which hides the mistake
  int wrong = 0;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    Buffer<float> gradient(std::vector<float>{0}), copy(1);
    const Stream compute, copies;
    const RandomOrder order(seed);
    version(copy.data(), gradient.data(), compute, copies);
    compute.synchronize();
    copies.synchronize();
    if (copy.download()[0] != 5) ++wrong;
  }
  return wrong;
}

TEST(MissingEvent, ShowsUnderSomeSeeds) {
  const int wrong = wrong_seeds(copy_without_event);
  show("the old gradient is copied under ", wrong, " of 32 seeds");
  EXPECT_GT(wrong, 0);
  EXPECT_LT(wrong, 32) << "and the mistake does not show under the others";
  EXPECT_EQ(wrong_seeds(copy_without_event), wrong) << "a seed repeats its order";
}

TEST(MissingEvent, NoSeedBreaksTheCopyAfterTheEvent) { EXPECT_EQ(wrong_seeds(copy_after_event), 0); }

}  // namespace
}  // namespace rondo::test
