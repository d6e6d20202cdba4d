#include <gtest/gtest.h>

#include <rondo/kernels/core/platform.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/nn/step_graph.h>
#include <rondo/tests/support/random_order.h>

namespace rondo {
namespace {

Buffer<int64_t> zero_on(int device) {
  DeviceScope scope(device);
  return Buffer<int64_t>(std::vector<int64_t>{0});
}

TEST(StepGraph, ReplaysWhatWasRecordedOnEveryStream) {
  const int other = device_count() > 1 ? 1 : 0;
  StreamGroup group({0, other});
  Buffer<int64_t> first = zero_on(0), second = zero_on(other);
  StepGraph graph(group, [&] {
    throw_if_error(advance(first.data(), 2, group.stream(0)));
    DeviceScope scope(other);
    throw_if_error(advance(second.data(), 3, group.stream(1)));
  });
  EXPECT_EQ(first.download()[0], 0) << "recording must not run anything";
  for (int i = 0; i < 5; ++i) graph.launch();
  group.synchronize();
  EXPECT_EQ(first.download()[0], 10);
  EXPECT_EQ(second.download()[0], 15);
}

TEST(StepGraph, AFailureWhileRecordingLeavesTheStreamsUsable) {
  StreamGroup group({0});
  Buffer<int64_t> counter = zero_on(0);
  EXPECT_THROW(StepGraph(group, [&] { throw_if_error(advance(nullptr, 1, group.stream(0))); }), Error);
  throw_if_error(advance(counter.data(), 1, group.stream(0)));
  group.synchronize();
  EXPECT_EQ(counter.download()[0], 1);
}

// A value goes from stream to stream; where an order is missing, a late copy finds the round before.
TEST(StreamGroup, ForkAndJoinOrderTheStreams) {
  constexpr int kRounds = 20;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const test::RandomOrder order(seed);
    StreamGroup group({0, 0, 0});
    Buffer<unsigned char> from(1), through(1), to(1), seen(kRounds);
    const auto copy = [&](unsigned char* target, const Buffer<unsigned char>& source, int rank) {
      RONDO_CUDA_THROW(cudaMemcpyAsync(target, source.data(), 1, cudaMemcpyDefault, group.stream(rank)));
    };
    for (int round = 0; round < kRounds; ++round) {
      RONDO_CUDA_THROW(cudaMemsetAsync(from.data(), round, 1, group.stream(0)));
      group.fork();
      copy(through.data(), from, 1);
      group.join();
      group.fork();
      copy(to.data(), through, 2);
      group.join();
      copy(seen.data() + round, to, 0);
    }
    group.synchronize();
    const std::vector<unsigned char> values = seen.download();
    for (int round = 0; round < kRounds; ++round)
      EXPECT_EQ(values[static_cast<size_t>(round)], round) << "seed " << seed;
  }
}

}  // namespace
}  // namespace rondo
