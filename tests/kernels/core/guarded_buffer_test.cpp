// GuardedBuffer waits for its own device and detects writes outside its elements.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/random_order.h>

#include <memory>
#include <vector>

namespace rondo::test {
namespace {

TEST(GuardedBuffer, WaitsForItsOwnDevice) {
  if (device_count() < 2) GTEST_SKIP() << "one device";
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const RandomOrder order(seed);
    std::unique_ptr<GuardedBuffer<unsigned char>> buffer;
    std::unique_ptr<Stream> stream;
    {
      const DeviceScope scope(1);
      buffer = std::make_unique<GuardedBuffer<unsigned char>>(8);
      stream = std::make_unique<Stream>();
      RONDO_CUDA_THROW(cudaMemsetAsync(buffer->data(), 7, 8, *stream));
    }
    EXPECT_EQ(buffer->download(), std::vector<unsigned char>(8, 7)) << "seed " << seed;
  }
}

TEST(GuardedBuffer, DetectsAWriteOnEitherSide) {
  for (const int64_t outside : {-1, 3}) {
    GuardedBuffer<int> buffer(3, 1);
    buffer.leave_open();
    int before = 0;
    const size_t bytes = sizeof(int);
    RONDO_CUDA_THROW(cudaMemcpy(&before, buffer.data() + outside, bytes, cudaMemcpyDefault));
    RONDO_CUDA_THROW(cudaMemset(buffer.data() + outside, 0, bytes));
    EXPECT_FALSE(buffer.guards_intact());
    RONDO_CUDA_THROW(cudaMemcpy(buffer.data() + outside, &before, bytes, cudaMemcpyDefault));
    EXPECT_TRUE(buffer.guards_intact());
  }
}

// A kernel that reads beyond one buffer and writes beyond another must be detected: poison differs by buffer.
TEST(GuardedBuffer, DetectsThePoisonOfAnotherBuffer) {
  if (GuardedBuffer<int>::stays_unwritten()) GTEST_SKIP() << "all buffers have the value of fresh memory";
  GuardedBuffer<int> one(3), other(3);
  one.leave_open();
  other.leave_open();
  int before = 0;
  RONDO_CUDA_THROW(cudaMemcpy(&before, other.data() + 3, sizeof(int), cudaMemcpyDefault));
  RONDO_CUDA_THROW(cudaMemcpy(other.data() + 3, one.data() + 3, sizeof(int), cudaMemcpyDefault));
  EXPECT_FALSE(other.guards_intact());
  RONDO_CUDA_THROW(cudaMemcpy(other.data() + 3, &before, sizeof(int), cudaMemcpyDefault));
}

TEST(GuardedBuffer, ChecksInTheDestructor) {
  const auto written_beside = [] {
    GuardedBuffer<int> buffer(3);
    buffer.leave_open();
    RONDO_CUDA_THROW(cudaMemset(buffer.data() + 3, 0, 1));
  };
  EXPECT_NONFATAL_FAILURE(written_beside(), "a write outside the buffer of 3 elements, at byte 12");
}

}  // namespace
}  // namespace rondo::test
