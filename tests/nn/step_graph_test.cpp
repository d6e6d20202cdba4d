#include <gtest/gtest.h>

#include <rondo/kernels/core/platform.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/nn/step_graph.h>

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

TEST(StreamGroup, ForkAndJoinOrderTheStreams) {
  StreamGroup group({0, 0, 0});
  Buffer<int64_t> counter = zero_on(0);
  // Unordered increments of one counter would get lost: advance reads and writes without atomics.
  for (int round = 0; round < 50; ++round) {
    throw_if_error(advance(counter.data(), 1, group.stream(0)));
    group.fork();
    throw_if_error(advance(counter.data(), 1, group.stream(1)));
    group.join();
    group.fork();
    throw_if_error(advance(counter.data(), 1, group.stream(2)));
    group.join();
  }
  group.synchronize();
  EXPECT_EQ(counter.download()[0], 150);
}

}  // namespace
}  // namespace rondo
