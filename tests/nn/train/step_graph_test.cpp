#include <gtest/gtest.h>

#include <rondo/collectives/collectives.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/train/recorded_steps.h>
#include <rondo/nn/train/step_graph.h>
#include <rondo/tests/nn/train/spread.h>
#include <rondo/tests/support/random_order.h>
#include <rondo/tests/support/skip_without_devices.h>

#ifdef __SIMT__
#include <simt/faults.h>
#endif

namespace rondo {
namespace {

Buffer<int64_t> zero_on(int device) {
  DeviceScope scope(device);
  return Buffer<int64_t>(std::vector<int64_t>{0});
}

int other_device() { return test::spread(2)[1]; }

TEST(StepGraph, ReplaysWhatWasRecordedOnEveryStream) {
  const int other = other_device();
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
  EXPECT_THROW(StepGraph(group, [&] { throw_if_error(advance(nullptr, 1, group.stream(0))); }).launch(),
               Error);
  EXPECT_THROW(StepGraph(group, [&] { throw std::bad_alloc(); }), std::bad_alloc);
  throw_if_error(advance(counter.data(), 1, group.stream(0)));
  group.synchronize();
  EXPECT_EQ(counter.download()[0], 1);
}

#ifdef __SIMT__
// Between devices without peer access CUDA may refuse a copy inside a graph. The step must run anyway.
class RefusedGraph : public testing::TestWithParam<simt::StagedGraphCopies> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_DEVICES(2);
    set(simt::PeerAccess::absent, GetParam());
  }
  void TearDown() override {
    if (!IsSkipped()) set(simt::PeerAccess::works, simt::StagedGraphCopies::work);
  }
  static void set(simt::PeerAccess access, simt::StagedGraphCopies copies) {
    simt::set_staged_graph_copies(copies);
    ASSERT_EQ(simt::set_peer_access(0, 1, access), cudaSuccess);
    ASSERT_EQ(simt::set_peer_access(1, 0, access), cudaSuccess);
  }

  // Increments a counter on device 0 and copies it to device 1.
  void step() {
    throw_if_error(advance(counter_.data(), 1, group_.stream(0)));
    RONDO_CUDA_THROW(
        cudaMemcpyAsync(seen_.data(), counter_.data(), sizeof(int64_t), cudaMemcpyDefault, group_.stream(0)));
    const DeviceScope scope(1);
    throw_if_error(advance(other_.data(), 1, group_.stream(1)));
  }
  void expect_steps(int64_t steps) {
    group_.synchronize();
    EXPECT_EQ(seen_.download()[0], steps);
    EXPECT_EQ(other_.download()[0], steps);
  }
  static void expect_refused(const Status& refusal) {
    std::vector<const char*> parts;
    switch (GetParam()) {
      case simt::StagedGraphCopies::not_captured:
        parts = {"recording the step: ", "cudaErrorStreamCaptureUnsupported"};
        break;
      case simt::StagedGraphCopies::not_instantiated:
        parts = {"making the step's graph executable: operation not supported"};
        break;
      default:
        parts = {"launching the step's graph: operation not supported"};
    }
    for (const char* part : parts)
      EXPECT_NE(refusal.message().find(part), std::string::npos) << refusal.message();
  }

  StreamGroup group_{{0, other_device()}};
  Buffer<int64_t> counter_ = zero_on(0), seen_ = zero_on(other_device()), other_ = zero_on(other_device());
};
INSTANTIATE_TEST_SUITE_P(When, RefusedGraph,
                         testing::Values(simt::StagedGraphCopies::not_captured,
                                         simt::StagedGraphCopies::not_instantiated,
                                         simt::StagedGraphCopies::not_launched));

TEST_P(RefusedGraph, IsEnqueuedCallByCall) {
  StepGraph graph(group_, [&] { step(); });
  for (int i = 0; i < 3; ++i) graph.launch();
  expect_steps(3);
  expect_refused(graph.refusal());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "an error was left behind";
}

// The copies of a communicator are refused. It is not aborted, because nothing of the operation ran.
TEST_P(RefusedGraph, OfACommunicatorIsEnqueuedCallByCall) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    Communicator communicator({0, 1}, {.slot_bytes = 4096, .bucket_bytes = 0});
    std::vector<Buffer<float>> sums;
    std::vector<DataView> views;
    for (const int device : {0, 1}) {
      const DeviceScope scope(device);
      sums.emplace_back(std::vector<float>(5000, static_cast<float>(device + 1)));
      views.push_back(VectorView<float>{sums.back().data(), sums.back().size()});
    }
    StepGraph graph(group_, [&] {
      throw_if_error(all_reduce(views, {.algorithm = algorithm}, communicator, group_.streams()));
    });
    for (int i = 0; i < 3; ++i) graph.launch();
    group_.synchronize();
    expect_refused(graph.refusal());
    EXPECT_TRUE(communicator.state().ok()) << communicator.state().message();
    for (const Buffer<float>& sum : sums) EXPECT_EQ(sum.download(), std::vector<float>(5000, 12.0f));
  }
}

TEST_P(RefusedGraph, IsToldOfRecordedSteps) {
  nn::RecordedSteps steps;
  const nn::StepKind kind{.batch = 1, .source = 1, .optimizer = 1, .loss = 0};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(steps.refusal().ok(), i < 2);
    steps.run(kind, group_, [this] { step(); });
  }
  expect_steps(4);
  expect_refused(steps.refusal());
}

TEST(StepGraph, OfDevicesThatReachEachOtherIsNotRefused) {
  SKIP_WITHOUT_DEVICES(2);
  simt::set_staged_graph_copies(simt::StagedGraphCopies::not_launched);
  StreamGroup group({0, 1});
  Buffer<int64_t> from = zero_on(0), to = zero_on(1);
  StepGraph graph(group, [&] {
    RONDO_CUDA_THROW(
        cudaMemcpyAsync(to.data(), from.data(), sizeof(int64_t), cudaMemcpyDefault, group.stream(0)));
  });
  graph.launch();
  group.synchronize();
  EXPECT_TRUE(graph.refusal().ok()) << graph.refusal().message();
  simt::set_staged_graph_copies(simt::StagedGraphCopies::work);
}
#endif

// A value passes from stream to stream. Without the right order, a copy reads the previous round's value.
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
