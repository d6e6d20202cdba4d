// An exercise: a missing barrier.
//
// A thread reads from shared memory what another thread wrote. Without a barrier in between, the other thread
// may not have written yet. In order, the threads of a block give the right result: thread t runs after
// thread t - 1. On a GPU it is mostly right, too, because the threads of a warp run together; wrong values
// appear where two warps meet, now and then.
//
// Questions.
//   1. Which elements can be wrong on a GPU, and which on the executor under a seed?
//   2. The kernel becomes a loop over tiles, with the same shared memory. Which second barrier is needed?
//   3. Why may the barrier not be inside `if (t > 0)`?

#include <gtest/gtest.h>

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/tests/exercises/support.h>
#include <rondo/tests/support/random_order.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>

#include <numeric>
#include <optional>
#include <vector>

namespace rondo::test {
namespace {

constexpr int kThreads = 64;

struct Shared {
  float tile[kThreads];
};

// Wrong on purpose: there is no barrier between the store and the load of a neighbour's element.
__global__ void add_left_without_barrier(float* to, const float* from) {
  Shared& shared = shared_memory<Shared>();
  const unsigned t = threadIdx.x;
  shared.tile[t] = from[t];
  to[t] = t > 0 ? shared.tile[t - 1] + shared.tile[t] : shared.tile[t];
}

__global__ void add_left(float* to, const float* from) {
  Shared& shared = shared_memory<Shared>();
  const unsigned t = threadIdx.x;
  shared.tile[t] = from[t];
  __syncthreads();
  to[t] = t > 0 ? shared.tile[t - 1] + shared.tile[t] : shared.tile[t];
}

using Kernel = void(float*, const float*);

// The result for the input 0, 1, 2, ...
std::vector<float> run(Kernel* kernel, std::optional<uint64_t> seed) {
  std::vector<float> from(kThreads);
  std::iota(from.begin(), from.end(), 0.0f);
  const Buffer<float> input(from);
  Buffer<float> output(kThreads);
  const Stream stream;
  std::optional<RandomOrder> order;
  if (seed) order.emplace(*seed);
  throw_if_error(launch("add_left", {.block_x = kThreads, .shared_bytes = sizeof(Shared)}, stream, kernel,
                        output.data(), input.data()));
  stream.synchronize();
  return output.download();
}

// The number of elements that are not those of the definition. A NaN is one.
int wrong_elements(const std::vector<float>& result) {
  int wrong = 0;
  for (int t = 0; t < kThreads; ++t)
    if (!(result[static_cast<size_t>(t)] == static_cast<float>(t > 0 ? 2 * t - 1 : 0))) ++wrong;
  return wrong;
}

class MissingBarrier : public testing::Test {
 protected:
  void SetUp() override { simt::set_seed({}); }
};

TEST_F(MissingBarrier, DoesNotShowInOrder) {
  EXPECT_EQ(wrong_elements(run(add_left_without_barrier, {})), 0);
}

TEST_F(MissingBarrier, ShowsUnderEverySeed) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const int wrong = wrong_elements(run(add_left_without_barrier, seed));
    show("SIMT_SEED=", seed, ": ", wrong, " of ", kThreads, " elements are wrong");
    EXPECT_GT(wrong, 0);
  }
}

TEST_F(MissingBarrier, NoSeedBreaksTheKernelWithTheBarrier) {
  EXPECT_EQ(wrong_elements(run(add_left, {})), 0);
  for (uint64_t seed = 0; seed < 64; ++seed) ASSERT_EQ(wrong_elements(run(add_left, seed)), 0) << seed;
}

}  // namespace
}  // namespace rondo::test
