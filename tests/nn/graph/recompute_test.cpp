// Activation checkpointing: less memory, the same bits.
#include <gtest/gtest.h>

#include <rondo/nn/models/models.h>
#include <rondo/tests/nn/models/small_networks.h>
#include <rondo/tests/nn/train/model_fixture.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>

#include <algorithm>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::normal_values;

// The results of a step, for every replica.
struct StepTrace {
  std::vector<float> outputs;
  std::vector<std::vector<float>> gradients, states;
};

StepTrace trace_of_steps(const AnyModule& network, Shape input, int ranks, int64_t batch,
                         int64_t checkpoint_layers) {
  ModelFixture fixture(network, input, spread(ranks), batch, [&](const Graph& graph, int64_t samples) {
    return plan_training(graph, samples, {.checkpoint_layers = checkpoint_layers});
  });
  const Pass pass = ranks > 1 ? fixture.shared() : kTraining;
  fixture.upload(normal_values(batch * input.size(), 1));
  forward(fixture.replicas, pass);
  StepTrace trace;
  trace.outputs = fixture.outputs();
  fixture.gradients(normal_values(static_cast<int64_t>(trace.outputs.size()), 2), pass);
  for (Replica& replica : fixture.replicas) {
    trace.gradients.push_back(ModelFixture::get(replica, replica.gradients()));
    trace.states.push_back(ModelFixture::get(replica, replica.states()));
  }
  return trace;
}

void expect_the_same_bits(const AnyModule& network, Shape input, int64_t batch,
                          const std::vector<int>& lengths) {
  for (int ranks : {1, 3}) {
    const StepTrace want = trace_of_steps(network, input, ranks, batch, 0);
    for (int64_t checkpoint_layers : lengths) {
      SCOPED_TRACE(concat(ranks, " replicas, checkpoint_layers ", checkpoint_layers));
      const StepTrace got = trace_of_steps(network, input, ranks, batch, checkpoint_layers);
      EXPECT_TRUE(all_equal_bits(got.outputs, want.outputs));
      for (size_t r = 0; r < want.gradients.size(); ++r) {
        EXPECT_TRUE(all_equal_bits(got.gradients[r], want.gradients[r]));
        EXPECT_TRUE(all_equal_bits(got.states[r], want.states[r]));
      }
    }
  }
}

TEST(Recompute, ChangesNoBitOfSmallNetworks) {
  for (const auto& [name, network] : small_networks()) {
    SCOPED_TRACE(name);
    expect_the_same_bits(network, kNetworkInput, 7, {1, 2, 3, 7, 1000});
  }
}

// Recomputation must draw the same dropout mask and must not update the running statistics again.
TEST(Recompute, ChangesNoBitOfDropoutAndBatchNorm) {
  const AnyModule network = Sequential{Conv2d(4, 3, {.padding = 1}),
                                       BatchNorm2d(),
                                       Dropout(0.3f),
                                       Conv2d(6, 3),
                                       BatchNorm2d(),
                                       ReLU(),
                                       Dropout(0.5f),
                                       MaxPool2d(2),
                                       Conv2d(5, 2),
                                       BatchNorm2d(),
                                       Flatten(),
                                       Dropout(0.2f),
                                       Linear(9),
                                       ReLU(),
                                       Dropout(0.4f),
                                       Linear(3)};
  expect_the_same_bits(network, kNetworkInput, 7, {1, 2, 3, 4, 5, 7, 1000});
}

TEST(Recompute, ChangesNoBitOfLeNet) { expect_the_same_bits(lenet(), {28, 28, 1}, 5, {1, 2, 3, 7, 1000}); }
TEST(Recompute, ChangesNoBitOfTheMlp) {
  expect_the_same_bits(mlp(90, 12), {1, 1, 20}, 5, {1, 2, 3, 7, 1000});
}
TEST(Recompute, ChangesNoBitOfResNet18) {
  expect_the_same_bits(resnet18(), {6, 6, 1}, 3, {1, 2, 3, 7, 1000});
}

// Without sharing, each replica has its own statistics; an empty shard has none.
TEST(Recompute, ChangesNoBitOfAnEmptyShard) {
  expect_the_same_bits(small_residual_network(), kNetworkInput, 2, {2, 3});
}

// Passes its input on and records the calls.
class Recorder : public Module {
 public:
  explicit Recorder(std::vector<std::string>& calls) : calls_(calls) {}
  Value build(Graph& graph, Value x) const override {
    return graph.add(std::make_unique<RecorderOp>(calls_), {x}, x.shape);
  }

 private:
  class RecorderOp : public Op {
   public:
    explicit RecorderOp(std::vector<std::string>& calls) : calls_(calls) {}
    std::string description() const override { return "recorder"; }
    Saves saves() const override { return {.inputs = true, .output = true}; }
    int64_t shared_sums() const override { return 1; }
    Status forward_sums(const OpContext&) const override { return note("sums"); }
    Status forward(const OpContext& context) const override {
      return note(context.recompute ? "again" : "forward");
    }
    Status backward_sums(const OpContext&) const override { return note("backward sums"); }
    Status backward(const OpContext& context) const override {
      return note(context.recompute ? "wrong" : "backward");
    }

   private:
    Status note(const char* call) const {
      calls_.emplace_back(call);
      return {};
    }
    std::vector<std::string>& calls_;
  };
  std::vector<std::string>& calls_;
};

// The shared sums of the first forward are reused. Summing again would only cost an all-reduce.
TEST(Recompute, MakesNoSumsAgain) {
  std::vector<std::string> calls;
  const Recorder layer(calls);
  ModelFixture fixture(Sequential{layer, layer, layer}, {1, 1, 4}, {0}, 1,
                       [](const Graph& graph, int64_t batch) {
                         return plan_training(graph, batch, {.checkpoint_layers = 2});
                       });
  forward(fixture.replicas, kTraining);
  backward(fixture.replicas, kTraining);
  const std::vector<std::string> want = {"sums",     "forward",       "sums",     "forward", "sums",
                                         "forward",  "backward sums", "backward", "again",   "backward sums",
                                         "backward", "backward sums", "backward"};
  EXPECT_EQ(calls, want);
}

TEST(Recompute, RunsOnlyWhatIsNeededAgain) {
  const Graph graph =
      make_graph(mlp(9, 8), {1, 1, 4});  // 10 operations; backward of each reads its input and its output
  using Kind = ScheduleEntry::Kind;
  const auto count = [](const std::vector<ScheduleEntry>& schedule, Kind kind) {
    return std::ranges::count(schedule, kind, &ScheduleEntry::kind);
  };
  for (int k : {0, 1, 10, 11}) EXPECT_EQ(count(training_schedule(graph, k), Kind::recompute), 0) << k;
  // Segments 0-3, 4-7 and 8-9. The last segment is not recomputed, nor are results that another segment uses.
  const std::vector<ScheduleEntry> schedule = training_schedule(graph, 4);
  std::vector<ScheduleEntry> want;
  for (int node = 0; node < 10; ++node) want.push_back({Kind::forward, node});
  want.push_back({Kind::loss, -1});
  for (int node : {9, 8}) want.push_back({Kind::backward, node});
  for (int node : {4, 5, 6}) want.push_back({Kind::recompute, node});
  for (int node : {7, 6, 5, 4}) want.push_back({Kind::backward, node});
  for (int node : {0, 1, 2}) want.push_back({Kind::recompute, node});
  for (int node : {3, 2, 1, 0}) want.push_back({Kind::backward, node});
  EXPECT_TRUE(schedule == want);
}

// The backward of an average pooling reads no values, so its inputs are not recomputed.
TEST(Recompute, LeavesOutWhatNobodyReads) {
  const Graph graph = make_graph(
      Sequential{AvgPool2d(1), AvgPool2d(1), AvgPool2d(1), Flatten(), Linear(3), Linear(2)}, {2, 2, 1});
  for (const ScheduleEntry& entry : training_schedule(graph, 3))
    EXPECT_NE(entry.kind, ScheduleEntry::Kind::recompute);
}

// The linear layer's backward reads the second average, which is computed from the first.
TEST(Recompute, MakesWhatIsNeededOfWhatItIsMadeOf) {
  const AnyModule network =
      Sequential{AvgPool2d(1), AvgPool2d(1), Flatten(), Linear(3), Linear(3), Linear(3)};
  std::vector<int> again;
  for (const ScheduleEntry& entry : training_schedule(make_graph(network, {2, 2, 1}), 3))
    if (entry.kind == ScheduleEntry::Kind::recompute) again.push_back(entry.node);
  EXPECT_EQ(again, (std::vector<int>{0, 1}));
}

// The deep MLP: 91 operations in sequence; all values except the first and the last have the same size. While
// segment s of k operations goes backward, these values are in memory: the results of the s - 1 segments
// before it, its k - 1 recomputed inner values, its own result, and two gradients. The peak is in the last
// segment or the one before, which need the same.
TEST(Recompute, TheDeepMlpNeedsNoMoreThanItsBound) {
  constexpr int64_t kBatch = 6912, kWidth = 2056, kOperations = 91;
  const Graph graph = make_graph(mlp(), {1, 1, 1024});
  const int64_t value = kBatch * kWidth,
                small = kBatch * (1024 + 2 * 64);  // input, result and its gradient
  const int64_t whole = plan_training(graph, kBatch).size;
  EXPECT_GE(whole, 90 * value);
  EXPECT_LE(whole, 92 * value + small);
  for (int64_t k : {2, 5, 9, 10, 15, 30}) {
    const int64_t segments = (kOperations + k - 1) / k;
    const int64_t size = plan_training(graph, kBatch, {.checkpoint_layers = k}).size;
    EXPECT_LE(size, (segments - 1 + k - 1 + 2) * value + small) << k;
    EXPECT_GE(size, (segments - 1) * value) << k;
    RecordProperty(concat("floats_", k), concat(size));
  }
}

}  // namespace
}  // namespace rondo::nn
