// Everything that all_reduce() must refuse, naming the rank, and that a refusal changes nothing.
#include <rondo/tests/collectives/world.h>

namespace rondo::test {
namespace {

using Outputs = std::vector<VectorView<float>>;
using Inputs = std::vector<VectorView<const float>>;

class AllReduceArguments : public testing::Test {
 protected:
  static constexpr int64_t kSize = 40;

  // Calls it with these arguments; afterwards nothing may have changed on any device.
  Status attempt(const Outputs& outputs, const Inputs& inputs) {
    return attempt(outputs, inputs, world_.handles);
  }
  Status attempt(const Outputs& outputs, const Inputs& inputs, const std::vector<cudaStream_t>& streams) {
    Status status = all_reduce(outputs, inputs, world_.communicator, streams);
    world_.synchronize();
    for (size_t rank = 0; rank < 3; ++rank) {
      EXPECT_TRUE(all_equal_bits(in_.download(rank), values_[rank]));
      EXPECT_TRUE(all_equal_bits(out_.download(rank), values_[rank]));
    }
    return status;
  }

  World world_{place(3, Placement::pairs)};
  std::vector<std::vector<float>> values_ = exact_inputs(3, kSize, 3);
  RankVectors in_{world_.devices, values_};
  RankVectors out_{world_.devices, values_};
  Outputs outputs_ = out_.views();
  Inputs inputs_ = in_.const_views();
};

TEST_F(AllReduceArguments, OneOfEachARank) {
  EXPECT_TRUE(refused(attempt({outputs_[0], outputs_[1]}, inputs_), "there are 2 outputs, must be 3"));
  EXPECT_TRUE(refused(attempt(outputs_, {inputs_[0]}), "there are 1 inputs, must be 3"));
  EXPECT_TRUE(refused(attempt(outputs_, {}), "there are 0 inputs, must be 3"));
  std::vector<cudaStream_t> streams = world_.handles;
  streams.push_back(streams[0]);
  EXPECT_TRUE(refused(attempt(outputs_, inputs_, streams), "there are 4 streams, must be 3"));
  EXPECT_TRUE(refused(all_reduce(Outputs{}, world_.communicator, world_.handles), "there are 0 outputs"));
}

TEST_F(AllReduceArguments, OneSize) {
  Outputs outputs = outputs_;
  outputs[2].size = kSize - 1;
  EXPECT_TRUE(refused(attempt(outputs, inputs_), "outputs[2].size is 39, must be 40"));
  Inputs inputs = inputs_;
  inputs[1].size = kSize + 1;
  EXPECT_TRUE(refused(attempt(outputs_, inputs), "inputs[1].size is 41, must be 40"));
  outputs = outputs_;
  inputs = inputs_;
  for (size_t rank = 0; rank < 3; ++rank) outputs[rank].size = inputs[rank].size = -4;
  EXPECT_TRUE(refused(attempt(outputs, inputs), "size is -4, must not be negative, at rank 0"));
}

TEST_F(AllReduceArguments, PointersThatCanBeUsed) {
  Outputs outputs = outputs_;
  outputs[1].data = nullptr;
  EXPECT_TRUE(refused(attempt(outputs, inputs_), "outputs is null with 40 elements, at rank 1"));
  Inputs inputs = inputs_;
  inputs[2].data = nullptr;
  EXPECT_TRUE(refused(attempt(outputs_, inputs), "inputs is null with 40 elements, at rank 2"));
  outputs = outputs_;
  outputs[0].data = reinterpret_cast<float*>(reinterpret_cast<uintptr_t>(outputs[0].data) + 2);
  EXPECT_TRUE(refused(attempt(outputs, inputs_), "must be aligned to 4 bytes, at rank 0"));
}

TEST_F(AllReduceArguments, NothingWrittenOverlapsAnything) {
  const auto part = [](VectorView<float> whole, int64_t from, int64_t size) {
    return VectorView<float>{whole.data + from, size};
  };
  Outputs outputs;
  Inputs inputs;
  for (size_t rank = 0; rank < 3; ++rank) {
    outputs.push_back(part(out_.views()[rank], 0, 20));
    inputs.push_back(part(in_.views()[rank], 0, 20));
  }
  Inputs shifted = inputs;
  shifted[1] = part(out_.views()[1], 19, 20);
  EXPECT_TRUE(
      refused(attempt(outputs, shifted), "outputs[1] overlaps inputs[1], must be the same or lie apart"));
  Inputs other = inputs;
  other[2] = outputs[0];
  EXPECT_TRUE(refused(attempt(outputs, other), "outputs[0] overlaps inputs[2], must lie apart"));
  Outputs twice = outputs;
  twice[2] = part(out_.views()[0], 1, 20);
  EXPECT_TRUE(refused(attempt(twice, inputs), "outputs[0] overlaps outputs[2], must lie apart"));
  EXPECT_TRUE(refused(all_reduce(twice, world_.communicator, world_.handles), "outputs[0] overlaps"));
}

TEST_F(AllReduceArguments, VectorsThatTouchAreFine) {
  Outputs outputs;
  Inputs inputs;
  for (VectorView<float> whole : out_.views()) {
    outputs.push_back({whole.data, 20});
    inputs.push_back({whole.data + 20, 20});
  }
  EXPECT_TRUE(ok(all_reduce(outputs, inputs, world_.communicator, world_.handles)));
  world_.synchronize();
}

TEST_F(AllReduceArguments, StreamsOfTheRanksDevices) {
  if (device_count() < 2) GTEST_SKIP() << "one device has no streams of another";
  std::vector<cudaStream_t> streams = world_.handles;  // ranks 0 and 1 on device 0, rank 2 on device 1
  std::swap(streams[1], streams[2]);
  EXPECT_TRUE(refused(attempt(outputs_, inputs_, streams), "streams[1] is of device 1, must be of device 0"));
}

TEST_F(AllReduceArguments, StreamsAllCapturedOrNone) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(world_.handles[0], cudaStreamCaptureModeRelaxed), cudaSuccess);
  Status status = all_reduce(outputs_, inputs_, world_.communicator, world_.handles);
  ASSERT_EQ(cudaStreamEndCapture(world_.handles[0], &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_TRUE(refused(status, "streams[1] is not being captured and streams[0] is"));
  EXPECT_TRUE(ok(all_reduce(outputs_, inputs_, world_.communicator, world_.handles)));
  world_.synchronize();
}

}  // namespace
}  // namespace rondo::test
