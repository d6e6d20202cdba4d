// A step whose graph does not fit into the memory of a device is enqueued call by call.
#include <gtest/gtest.h>

#include <rondo/kernels/data/batch.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/train/recorded_steps.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/graph_memory.h>
#include <rondo/tests/support/skip_without_devices.h>

namespace rondo::nn {
namespace {

using test::GraphMemory;

// A kernel on each of two devices.
class GraphMemoryOfSteps : public testing::TestWithParam<GraphMemory::Enough> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_DEVICES(2);
    for (const int device : {0, 1}) {
      const DeviceScope scope(device);
      counters_.emplace_back(std::vector<int64_t>{0});
    }
  }
  void step() {
    for (const int rank : {0, 1}) {
      const DeviceScope scope(rank);
      throw_if_error(advance(counters_[static_cast<size_t>(rank)].data(), 1, group_.stream(rank)));
    }
  }
  void expect_steps(int64_t steps) {
    group_.synchronize();
    for (const Buffer<int64_t>& counter : counters_) EXPECT_EQ(counter.download()[0], steps);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "an error was left behind";
  }

  StreamGroup group_{test::spread(2)};
  std::vector<Buffer<int64_t>> counters_;
};
INSTANTIATE_TEST_SUITE_P(For, GraphMemoryOfSteps,
                         testing::Values(GraphMemory::for_nothing, GraphMemory::for_instantiation),
                         [](const auto& info) {
                           return info.param == GraphMemory::for_nothing ? "nothing" : "instantiation";
                         });

TEST_P(GraphMemoryOfSteps, IsNotNeeded) {
  const GraphMemory memory(1, GetParam());
  const size_t before = memory.used();
  RecordedSteps steps;
  const StepKind kind{.batch = 1, .source = 1, .optimizer = 1, .loss = 0};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(steps.refusal().ok(), i < 2);
    steps.run(kind, group_, [this] { step(); });
  }
  expect_steps(4);
  EXPECT_EQ(memory.used(), before) << "the graph keeps memory";
  EXPECT_EQ(steps.refusal().code(), StatusCode::out_of_resources);
  const std::string part = GetParam() == GraphMemory::for_nothing ? "making the step's graph executable: "
                                                                  : "uploading the step's graph: ";
  EXPECT_EQ(steps.refusal().message(), part + "out of memory (cudaErrorMemoryAllocation)");
}

TEST_F(GraphMemoryOfSteps, IsUsedWhereThereIsEnough) {
  const GraphMemory memory(1, GraphMemory::for_launch);
  const size_t before = memory.used();
  {
    StepGraph graph(group_, [this] { step(); });
    EXPECT_GT(memory.used(), before);
    for (int i = 0; i < 3; ++i) graph.launch();
    EXPECT_TRUE(graph.refusal().ok()) << graph.refusal().message();
    expect_steps(3);
  }
  EXPECT_EQ(memory.used(), before);
}

TEST(GraphMemory, ATrainingWithoutItHasTheSameBits) {
  SKIP_WITHOUT_DEVICES(2);
  const auto trained = [](bool enough) {
    DataParallel model(test::small_network(), test::kSmallInput, test::small_options(2));
    Adam adam(model);
    const std::vector<float> x = test::normal_values(12 * test::kSmallInput.size(), 1);
    const std::vector<int32_t> labels = test::some_labels(12, 4);
    model.train_step(x, labels, adam);  // allocates
    model.streams().synchronize();
    const GraphMemory memory(1, enough ? GraphMemory::for_launch : GraphMemory::for_instantiation);
    for (int step = 0; step < 4; ++step) model.train_step(x, labels, adam);
    EXPECT_EQ(model.graph_refusal().ok(), enough) << model.graph_refusal().message();
    return test::parameters_of(model);
  };
  EXPECT_TRUE(test::all_equal_bits(trained(false), trained(true)));
}

}  // namespace
}  // namespace rondo::nn
