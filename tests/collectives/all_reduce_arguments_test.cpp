// All errors of all_reduce(): each names the rank, and a refused call changes nothing.
#include <rondo/tests/collectives/communicator_fixture.h>

#include <thread>

namespace rondo::test {
namespace {

using Outputs = std::vector<DataView>;
using Inputs = std::vector<ConstDataView>;

class AllReduceArguments : public testing::Test {
 protected:
  static constexpr int64_t kSize = 40;

  // Calls all_reduce() and checks that nothing changed on any device.
  Status attempt(const Outputs& outputs, const Inputs& inputs) {
    return attempt(outputs, inputs, fixture_.handles);
  }
  Status attempt(const Outputs& outputs, const Inputs& inputs, const std::vector<cudaStream_t>& streams) {
    Status status = all_reduce(outputs, inputs, {}, fixture_.communicator, streams);
    fixture_.synchronize();
    for (size_t rank = 0; rank < 3; ++rank) {
      EXPECT_TRUE(all_equal_bits(in_.download(rank), values_[rank]));
      EXPECT_TRUE(all_equal_bits(out_.download(rank), values_[rank]));
    }
    return status;
  }

  CommunicatorFixture fixture_{place(3, Placement::pairs)};
  std::vector<std::vector<float>> values_ = exact_inputs(3, kSize, 3);
  RankVectors in_{fixture_.devices, values_};
  RankVectors out_{fixture_.devices, values_};
  Outputs outputs_ = out_.views();
  Inputs inputs_ = in_.const_views();
};

TEST_F(AllReduceArguments, OneOfEachARank) {
  EXPECT_TRUE(refused(attempt({outputs_[0], outputs_[1]}, inputs_), "there are 2 outputs, must be 3"));
  EXPECT_TRUE(refused(attempt(outputs_, {inputs_[0]}), "there is 1 input, must be 3"));
  EXPECT_TRUE(refused(attempt(outputs_, {}), "there are 0 inputs, must be 3"));
  std::vector<cudaStream_t> streams = fixture_.handles;
  streams.push_back(streams[0]);
  EXPECT_TRUE(refused(attempt(outputs_, inputs_, streams), "there are 4 streams, must be 3"));
  EXPECT_TRUE(
      refused(all_reduce(Outputs{}, {}, fixture_.communicator, fixture_.handles), "there are 0 outputs"));
}

TEST_F(AllReduceArguments, OneSize) {
  Outputs outputs = outputs_;
  outputs[2].size = kSize - 1;
  EXPECT_TRUE(refused(attempt(outputs, inputs_), "the output of rank 2 has 39 elements, must have 40"));
  Inputs inputs = inputs_;
  inputs[1].size = kSize + 1;
  EXPECT_TRUE(refused(attempt(outputs_, inputs), "the input of rank 1 has 41 elements, must have 40"));
  outputs = outputs_;
  inputs = inputs_;
  for (size_t rank = 0; rank < 3; ++rank) outputs[rank].size = inputs[rank].size = -4;
  EXPECT_TRUE(
      refused(attempt(outputs, inputs), "the output of rank 0 has the size -4, must not be negative"));
}

TEST_F(AllReduceArguments, OneType) {
  Outputs outputs = outputs_;
  outputs[2].dtype = DType::int32;
  EXPECT_TRUE(refused(attempt(outputs, inputs_), "the output of rank 2 is int32, must be float32"));
  Inputs inputs = inputs_;
  inputs[1].dtype = DType::bfloat16;
  EXPECT_TRUE(refused(attempt(outputs_, inputs), "the input of rank 1 is bfloat16, must be float32"));
}

TEST_F(AllReduceArguments, PointersThatCanBeUsed) {
  Outputs outputs = outputs_;
  outputs[1].data = nullptr;
  EXPECT_TRUE(refused(attempt(outputs, inputs_), "the output of rank 1 is null with 40 elements"));
  Inputs inputs = inputs_;
  inputs[2].data = nullptr;
  EXPECT_TRUE(refused(attempt(outputs_, inputs), "the input of rank 2 is null with 40 elements"));
  outputs = outputs_;
  outputs[0].data = static_cast<std::byte*>(outputs[0].data) + 2;
  EXPECT_TRUE(refused(attempt(outputs, inputs_), "must be aligned to 4 bytes"));
  std::vector<float> host(kSize);
  inputs = inputs_;
  inputs[1].data = host.data();
  EXPECT_TRUE(refused(attempt(outputs_, inputs), "which is not a device's memory, must be of device 0"));
}

TEST_F(AllReduceArguments, MemoryOfTheRanksDevice) {
  if (device_count() < 2) GTEST_SKIP() << "one device has no memory of another";
  Inputs inputs = inputs_;  // ranks 0 and 1 on device 0, rank 2 on device 1
  inputs[2].data = inputs_[0].data;
  EXPECT_TRUE(refused(attempt(outputs_, inputs),
                      "the input of rank 2 is in the memory of device 0, must be in that of device 1"));
}

TEST_F(AllReduceArguments, NothingWrittenOverlapsAnything) {
  Outputs outputs;
  Inputs inputs;
  for (size_t rank = 0; rank < 3; ++rank) {
    outputs.push_back(out_.views()[rank].part(0, 20));
    inputs.push_back(in_.const_views()[rank].part(0, 20));
  }
  Inputs shifted = inputs;
  shifted[1] = out_.views()[1].part(19, 20);
  EXPECT_TRUE(
      refused(attempt(outputs, shifted),
              "the output of rank 1 overlaps the input of rank 1, must be exactly in place or lie apart"));
  Inputs other = inputs;
  other[1] = outputs[0];
  EXPECT_TRUE(
      refused(attempt(outputs, other), "the output of rank 0 overlaps the input of rank 1, must lie apart"));
  Outputs twice = outputs;
  twice[1] = out_.views()[0].part(1, 20);
  EXPECT_TRUE(
      refused(attempt(twice, inputs), "the output of rank 0 overlaps the output of rank 1, must lie apart"));
  EXPECT_TRUE(refused(all_reduce(twice, {}, fixture_.communicator, fixture_.handles), "overlaps the"));
}

TEST_F(AllReduceArguments, VectorsThatTouchAreFine) {
  Outputs outputs;
  Inputs inputs;
  for (DataView whole : out_.views()) {
    outputs.push_back(whole.part(0, 20));
    inputs.push_back(whole.part(20, 20));
  }
  EXPECT_TRUE(ok(all_reduce(outputs, inputs, {}, fixture_.communicator, fixture_.handles)));
  fixture_.synchronize();
}

TEST_F(AllReduceArguments, OrdersThatTheAlgorithmHas) {
  EXPECT_TRUE(
      refused(all_reduce(outputs_, inputs_, {.algorithm = Algorithm::ring, .order = SumOrder::balanced_tree},
                         fixture_.communicator, fixture_.handles),
              "a balanced tree, which the algorithm ring does not have"));
}

TEST_F(AllReduceArguments, StreamsOfTheRanksDevices) {
  if (device_count() < 2) GTEST_SKIP() << "one device has no streams of another";
  std::vector<cudaStream_t> streams = fixture_.handles;  // ranks 0 and 1 on device 0, rank 2 on device 1
  std::swap(streams[1], streams[2]);
  EXPECT_TRUE(refused(attempt(outputs_, inputs_, streams),
                      "the stream of rank 1 is of device 1, must be of device 0"));
}

// The capture stays valid, and the communicator is not aborted.
TEST_F(AllReduceArguments, CapturedStreamsAreNotWaitedFor) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(fixture_.handles[2], cudaStreamCaptureModeThreadLocal), cudaSuccess);
  const Status status = fixture_.communicator.wait(fixture_.handles, std::chrono::seconds(30));
  EXPECT_EQ(cudaStreamEndCapture(fixture_.handles[2], &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_TRUE(refused(status, "wait: the stream of rank 2 is being captured"));
  EXPECT_TRUE(ok(all_reduce(outputs_, inputs_, {}, fixture_.communicator, fixture_.handles)));
  EXPECT_TRUE(ok(fixture_.communicator.wait(fixture_.handles, std::chrono::seconds(30))));
}

// CUDA refuses to query the default stream while a stream that would wait for it is captured.
TEST_F(AllReduceArguments, ADefaultStreamBesideACaptureIsNoFailure) {
  const DeviceScope scope(fixture_.devices[1]);
  cudaStream_t captured = nullptr;
  ASSERT_EQ(cudaStreamCreate(&captured), cudaSuccess);
  std::vector<cudaStream_t> streams = fixture_.handles;
  streams[1] = nullptr;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(captured, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  Status status;
  std::thread([&] { status = fixture_.communicator.wait(streams, std::chrono::seconds(30)); }).join();
  EXPECT_EQ(cudaStreamEndCapture(captured, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(captured), cudaSuccess);
  EXPECT_TRUE(refused(status, "wait: rank 1 on device 0: "));
  EXPECT_TRUE(refused(status, "cudaErrorStreamCaptureImplicit"));
  EXPECT_TRUE(ok(fixture_.communicator.state()));
  EXPECT_TRUE(ok(all_reduce(outputs_, inputs_, {}, fixture_.communicator, fixture_.handles)));
  EXPECT_TRUE(ok(fixture_.communicator.wait(streams, std::chrono::seconds(30))));
  fixture_.synchronize();
}

// Nothing was enqueued: another call works.
TEST_F(AllReduceArguments, AnInvalidatedCaptureDoesNotAbort) {
  for (const cudaStream_t stream : fixture_.handles)
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  for (const int device : fixture_.devices) {
    const DeviceScope scope(device);
    ASSERT_NE(cudaDeviceSynchronize(), cudaSuccess);
  }
  const Status status = all_reduce(outputs_, inputs_, {}, fixture_.communicator, fixture_.handles);
  EXPECT_EQ(status.code(), StatusCode::bad_argument) << status.message();
  for (const cudaStream_t stream : fixture_.handles) {
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  }
  static_cast<void>(cudaGetLastError());
  EXPECT_TRUE(ok(all_reduce(outputs_, inputs_, {}, fixture_.communicator, fixture_.handles)));
  fixture_.synchronize();
}

TEST_F(AllReduceArguments, StreamsAllCapturedOrNone) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(fixture_.handles[0], cudaStreamCaptureModeRelaxed), cudaSuccess);
  Status status = all_reduce(outputs_, inputs_, {}, fixture_.communicator, fixture_.handles);
  ASSERT_EQ(cudaStreamEndCapture(fixture_.handles[0], &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_TRUE(refused(status, "the stream of rank 1 is not being captured and that of rank 0 is"));
  EXPECT_TRUE(ok(all_reduce(outputs_, inputs_, {}, fixture_.communicator, fixture_.handles)));
  fixture_.synchronize();
}

}  // namespace
}  // namespace rondo::test
