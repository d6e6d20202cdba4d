// all_reduce() with other work before and after it on the streams, many calls in flight, two communicators,
// and captured in a graph. The executor draws legal orders from seeds, so that a missing event is detected.
// The slots are poisoned, so that a chunk that is used too early is NaN.
#include <rondo/tests/collectives/fork_join.h>

#include <cmath>

namespace rondo::test {
namespace {

// The thread sanitizer runs every CUDA thread as a host thread and detects races in any order, so fewer runs
// suffice.
#ifdef __SANITIZE_THREAD__
constexpr bool kFewer = true;
#else
constexpr bool kFewer = false;
#endif

constexpr int kSeeds = 40;

class AllReduceOrder : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, AllReduceOrder, testing::ValuesIn(kAlgorithms),
                         [](const auto& info) { return std::string(name_of(info.param)); });

void copy_on(cudaStream_t stream, ConstDataView from, DataView to) {
  RONDO_CUDA_THROW(
      cudaMemcpyAsync(to.data, from.data, static_cast<size_t>(to.bytes()), cudaMemcpyDeviceToDevice, stream));
}
void poison_on(cudaStream_t stream, DataView vector) {
  RONDO_CUDA_THROW(cudaMemsetAsync(vector.data, 0xFF, static_cast<size_t>(vector.bytes()), stream));
}

std::vector<float> sum_of(const std::vector<std::vector<float>>& inputs) {
  std::vector<float> sum = inputs[0];
  for (size_t rank = 1; rank < inputs.size(); ++rank)
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += inputs[rank][i];
  return sum;
}

// Each stream writes its input directly before the operation, and copies the result and poisons everything
// directly after it. Only the operation itself orders the ranks.
void expect_order_on_streams(CommunicatorFixture& fixture, Algorithm algorithm, int64_t size, bool in_place) {
  const auto inputs = exact_inputs(fixture.communicator.size(), size, 5);
  RankVectors source(fixture.devices, inputs);
  RankVectors in(fixture.devices, size), out(fixture.devices, size), result(fixture.devices, size);
  const RankVectors& data = in_place ? in : out;
  for (size_t rank = 0; rank < inputs.size(); ++rank)
    copy_on(fixture.handles[rank], source.const_views()[rank], in.views()[rank]);
  ASSERT_TRUE(ok(sum_by(algorithm, fixture, data, in)));
  for (size_t rank = 0; rank < inputs.size(); ++rank) {
    copy_on(fixture.handles[rank], data.const_views()[rank], result.views()[rank]);
    poison_on(fixture.handles[rank], in.views()[rank]);
    poison_on(fixture.handles[rank], out.views()[rank]);
  }
  fixture.synchronize();
  const std::vector<float> want = sum_of(inputs);
  for (size_t rank = 0; rank < inputs.size(); ++rank) {
    ASSERT_TRUE(all_equal_bits(result.download(rank), want)) << "rank " << rank;
    for (float value : data.download(rank))
      ASSERT_TRUE(std::isnan(value)) << "written after the operation's end";
  }
}

TEST_P(AllReduceOrder, FollowsAndPrecedesTheStreamsOtherWork) {
  for (int seed = 0; seed < kSeeds; ++seed)
    for (int ranks : {2, 3, 5})
      for (bool in_place : {true, false}) {
        SCOPED_TRACE(concat(GetParam(), ", seed ", seed, ", ", ranks, " ranks, ",
                            in_place ? "in place" : "out of place"));
        CommunicatorFixture fixture(place(ranks, seed % 2 ? Placement::spread : Placement::pairs), 64);
        RandomOrder order(static_cast<uint64_t>(seed));
        expect_order_on_streams(fixture, GetParam(), 131, in_place);
        if (HasFatalFailure()) return;
      }
}

TEST_P(AllReduceOrder, OneStreamMayServeAllRanksOfADevice) {
  CommunicatorFixture fixture(place(4, Placement::together));
  fixture.handles.assign(4, fixture.handles[0]);
  for (bool in_place : {true, false}) expect_order_on_streams(fixture, GetParam(), 1000, in_place);
}

TEST_P(AllReduceOrder, TheDefaultStreamWillDo) {
  CommunicatorFixture fixture(place(3, Placement::spread));
  fixture.handles.assign(3, nullptr);
  const auto inputs = exact_inputs(3, 100, 1);
  RankVectors data(fixture.devices, inputs);
  ASSERT_TRUE(ok(sum_by(GetParam(), fixture, data)));
  for (int device : fixture.devices) {
    DeviceScope scope(device);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  for (size_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(all_equal_bits(data.download(rank), sum_of(inputs)));
}

// Enqueues 1000 operations and waits once, at the end. Each reduces its own part.
TEST_P(AllReduceOrder, AThousandMayBeInFlight) {
  constexpr int kOperations = kFewer ? 100 : 1000;
  constexpr int64_t kPart = 7;
  for (int ranks : {2, 4}) {
    CommunicatorFixture fixture(place(ranks, Placement::spread));
    const auto inputs = exact_inputs(ranks, kOperations * kPart, 11);
    RankVectors data(fixture.devices, inputs);
    RandomOrder order(1);
    for (int i = 0; i < kOperations; ++i) {
      std::vector<DataView> parts;
      for (DataView whole : data.views()) parts.push_back(whole.part(i * kPart, kPart));
      ASSERT_TRUE(ok(all_reduce(parts, {.algorithm = GetParam()}, fixture.communicator, fixture.handles)));
    }
    fixture.synchronize();
    for (size_t rank = 0; rank < inputs.size(); ++rank)
      EXPECT_TRUE(all_equal_bits(data.download(rank), sum_of(inputs))) << "rank " << rank << " of " << ranks;
  }
}

// Two rings over the same devices in opposite directions, each with its own streams.
TEST_P(AllReduceOrder, CommunicatorsDoNotDisturbEachOther) {
  for (int seed = 0; seed < kSeeds / 4; ++seed) {
    std::vector<int> devices = place(4, Placement::spread);
    CommunicatorFixture forward(devices, 64);
    std::reverse(devices.begin(), devices.end());
    CommunicatorFixture backward(devices, 128);
    const auto inputs = exact_inputs(4, 301, 1), other_inputs = exact_inputs(4, 500, 2);
    RankVectors data(forward.devices, inputs), other_data(backward.devices, other_inputs);
    RandomOrder order(static_cast<uint64_t>(seed));
    ASSERT_TRUE(ok(sum_by(GetParam(), forward, data)));
    ASSERT_TRUE(ok(sum_by(GetParam(), backward, other_data)));
    forward.synchronize();
    backward.synchronize();
    for (size_t rank = 0; rank < 4; ++rank) {
      ASSERT_TRUE(all_equal_bits(data.download(rank), sum_of(inputs))) << "seed " << seed;
      ASSERT_TRUE(all_equal_bits(other_data.download(rank), sum_of(other_inputs))) << "seed " << seed;
    }
  }
}

// Fork, reduce twice with a communicator that has been used before, join: one graph over all devices.
// stress_test.cpp replays all operations, and more often.
TEST_P(AllReduceOrder, ARecordedOneIsReplayedWithChangedContents) {
  constexpr int kReplays = kFewer ? 20 : 200;
  for (int ranks : {1, 2, 3, 4}) {
    CommunicatorFixture fixture(place(ranks, Placement::spread), 64);
    StreamForkJoin fork_join(fixture);
    const auto size = static_cast<int64_t>(16 * ranks + 5);  // two passes
    RankVectors data(fixture.devices, exact_inputs(ranks, size, 0));
    RankVectors copy(fixture.devices, size);
    ASSERT_TRUE(ok(sum_by(GetParam(), fixture, copy, data)));

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(fixture.handles[0], cudaStreamCaptureModeThreadLocal), cudaSuccess);
    fork_join.fork();
    const Status out_of_place = sum_by(GetParam(), fixture, copy, data);
    const Status in_place = sum_by(GetParam(), fixture, data);
    fork_join.join();
    ASSERT_EQ(cudaStreamEndCapture(fixture.handles[0], &graph), cudaSuccess);
    ASSERT_TRUE(ok(out_of_place));
    ASSERT_TRUE(ok(in_place));
    SUCCEEDS_OR_SKIP_WITHOUT_PEER_ACCESS(cudaGraphInstantiate(&executable, graph, 0), fixture.communicator);
    ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    fixture.synchronize();

    for (int replay = 0; replay < kReplays; ++replay) {
      RandomOrder order(static_cast<uint64_t>(replay));
      const auto inputs = exact_inputs(ranks, size, static_cast<uint64_t>(replay) + 1);
      data.upload(inputs);
      SUCCEEDS_OR_SKIP_WITHOUT_PEER_ACCESS(cudaGraphLaunch(executable, fixture.handles[0]),
                                           fixture.communicator);
      ASSERT_EQ(cudaStreamSynchronize(fixture.handles[0]), cudaSuccess);
      const std::vector<float> want = sum_of(inputs);
      for (size_t rank = 0; rank < inputs.size(); ++rank) {
        ASSERT_TRUE(all_equal_bits(copy.download(rank), want)) << ranks << " ranks, replay " << replay;
        ASSERT_TRUE(all_equal_bits(data.download(rank), want)) << ranks << " ranks, replay " << replay;
      }
    }
    ASSERT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);

    // After the capture, uncaptured calls work again.
    const auto inputs = exact_inputs(ranks, size, 99);
    data.upload(inputs);
    ASSERT_TRUE(ok(sum_by(GetParam(), fixture, data)));
    fixture.synchronize();
    for (size_t rank = 0; rank < inputs.size(); ++rank)
      EXPECT_TRUE(all_equal_bits(data.download(rank), sum_of(inputs)));
  }
}

}  // namespace
}  // namespace rondo::test
