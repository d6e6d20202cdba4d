// Memory plans: every tensor is present when needed, and reuse of memory changes no bit.
#include <gtest/gtest.h>

#include <rondo/tests/nn/graph/arena_model.h>
#include <rondo/tests/nn/models/small_networks.h>
#include <rondo/tests/nn/train/model_fixture.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>

#include <algorithm>
#include <map>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::ArenaModel;
using test::normal_values;
using test::Random;

// Declares what backward reads, and computes nothing.
class NoOp : public Op {
 public:
  explicit NoOp(Saves saves, int64_t floats = 0) : saves_(saves), floats_(floats) {}
  std::string description() const override { return "nothing"; }
  Saves saves() const override { return saves_; }
  int64_t saved_floats() const override { return floats_; }
  Status forward(const OpContext&) const override { return {}; }
  Status backward(const OpContext&) const override { return {}; }

 private:
  Saves saves_;
  int64_t floats_;
};

// Random operations with up to three inputs, sometimes the same one twice, sometimes reshaped. The last
// operation takes all values that are otherwise unused. With bfloat16, values are of either type.
Graph random_graph(uint64_t seed, DType activations) {
  Random random(seed);
  const auto shape = [&] { return Shape{1 + random.below(3), 1 + random.below(4), 1 + random.below(20)}; };
  const auto op = [&] {
    const Saves saves = {random.below(2) == 0, random.below(2) == 0};
    return std::make_unique<NoOp>(saves, random.below(3) == 0 ? 1 + random.below(100) : 0);
  };
  const bool mixed = activations != DType::float32;
  const auto type = [&] { return mixed && random.below(4) > 0 ? DType::bfloat16 : DType::float32; };
  Graph graph(shape(), Math::fp32, activations);
  std::vector<Value> values = {graph.input()}, unused;
  const int64_t nodes = 1 + random.below(25);
  for (int64_t i = 0; i < nodes; ++i) {
    std::vector<Value> inputs;
    for (int64_t n = random.below(6) == 0 ? 0 : 1 + random.below(3); n > 0; --n) {
      const int64_t reach = std::min<int64_t>(static_cast<int64_t>(values.size()), 1 + random.below(10));
      Value value = values[values.size() - 1 - static_cast<size_t>(random.below(reach))];
      std::erase_if(unused, [&](const Value& v) { return v.id == value.id; });
      if (random.below(5) == 0) value = graph.reshape(value, {1, 1, value.shape.size()});
      inputs.push_back(value);
    }
    const DType wanted = type();
    for (Value& value : inputs) value = graph.cast(value, wanted);
    values.push_back(graph.add(op(), inputs, shape()));
    unused.push_back(values.back());
  }
  const DType wanted = type();
  for (Value& value : unused) value = graph.cast(value, wanted);
  graph.set_output(graph.add(op(), unused, shape()));
  return graph;
}

TEST(MemoryPlan, WhatIsNeededIsThere) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Graph graph = random_graph(seed, seed % 2 == 0 ? DType::float32 : DType::bfloat16);
    for (int64_t checkpoint_layers : {0, 1, 2, 3, 7, 100})
      for (bool input_gradient : {false, true}) {
        SCOPED_TRACE(concat("seed ", seed, ", checkpoint_layers ", checkpoint_layers));
        const auto batch = static_cast<int64_t>(1 + seed % 5);
        const MemoryPlan plan = plan_training(graph, batch, {input_gradient, checkpoint_layers});
        ASSERT_TRUE(ArenaModel(graph, batch, plan).plays(input_gradient && !graph.values()[0].uses.empty()));
        ASSERT_LE(plan.size, plan.tensors);
      }
  }
}

// 129 elements of bfloat16 have 64.5 floats: one more than half of a block of memory.
TEST(MemoryPlan, OddTensorsOfBfloat16Fit) {
  const Sequential network{Linear(129), ReLU(), Linear(129), Residual(Sequential{Linear(129)}), Linear(129)};
  const Graph graph = make_graph(network, {1, 1, 129}, Math::fp32, DType::bfloat16);
  for (const int64_t batch : {1, 2, 3})
    EXPECT_TRUE(ArenaModel(graph, batch, plan_training(graph, batch)).plays(false)) << batch;
}

TEST(MemoryPlan, TheModelSeesAWrongPlace) {
  const Graph graph = make_graph(small_lenet(), kNetworkInput);
  const MemoryPlan right = plan_training(graph, 6, {.checkpoint_layers = 2});
  ASSERT_TRUE(ArenaModel(graph, 6, right).plays(false));
  int seen = 0, moved = 0;
  for (size_t i = 0; i < right.steps.size(); ++i) {
    MemoryPlan wrong = right;
    if (wrong.steps[i].output == kNowhere) continue;
    wrong.steps[i].output += wrong.steps[i].output > 0 ? -64 : 64;
    ++moved;
    seen += !ArenaModel(graph, 6, wrong).plays(false);
  }
  EXPECT_EQ(seen, moved);
  EXPECT_GT(moved, 10);
}

// The same steps with a separate place for every tensor.
MemoryPlan without_reuse(const Graph& graph, int64_t batch, const PlanOptions& options = {}) {
  MemoryPlan plan = plan_training(graph, batch, options);
  std::map<int, int64_t> values, gradients, saved;  // current places
  plan.size = 0;
  const auto fresh_floats = [&](int64_t floats) {
    const int64_t place = plan.size;
    plan.size += (floats * batch + 63) / 64 * 64;
    return place;
  };
  const auto fresh = [&](int value) {
    return fresh_floats(graph.values()[static_cast<size_t>(value)].shape.size());
  };
  const auto write = [&](std::map<int, int64_t>& places, int value) { return places[value] = fresh(value); };
  plan.input = write(values, 0);
  for (Step& step : plan.steps) {
    if (step.entry.kind == ScheduleEntry::Kind::loss) {
      const int output = graph.resolved(graph.output().id);
      plan.output = values.at(output);
      plan.output_gradient = write(gradients, output);
      continue;
    }
    const Graph::Node& node = graph.nodes()[static_cast<size_t>(step.entry.node)];
    const bool backward = step.entry.kind == ScheduleEntry::Kind::backward;
    if (backward) step.output_gradient = gradients.at(node.output);
    if (step.saved != kNowhere)
      step.saved = backward ? saved.at(step.entry.node)
                            : saved[step.entry.node] = fresh_floats(node.op->saved_floats());
    step.output = backward ? values.at(node.output) : write(values, node.output);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const int value = graph.resolved(node.inputs[i]);
      step.inputs[i] = values.at(value);
      if (!backward || step.input_gradients[i] == kNowhere) continue;
      if (step.added_to[i] != kNowhere) step.added_to[i] = gradients.at(value);
      step.input_gradients[i] = step.added_to[i] == kNowhere ? write(gradients, value) : fresh(value);
    }
  }
  return plan;
}

// The bits must not depend on the memory layout: compares plans with and without reuse.
TEST(MemoryPlan, ReuseChangesNothing) {
  for (const auto& [name, network] : small_networks())
    for (int64_t checkpoint_layers : {0, 3}) {
      SCOPED_TRACE(concat(name, ", checkpoint_layers ", checkpoint_layers));
      constexpr int64_t kBatch = 6;
      const PlanOptions options = {.checkpoint_layers = checkpoint_layers};
      ModelFixture planned(
          network, kNetworkInput, {0}, kBatch,
          [&](const Graph&graph, int64_t batch) { return plan_training(graph, batch, options); }),
          spread(network, kNetworkInput, {0}, kBatch,
                 [&](const Graph&graph, int64_t batch) { return without_reuse(graph, batch, options); });
      EXPECT_LT(plan_training(planned.graph, kBatch, options).size,
                without_reuse(planned.graph, kBatch, options).size);
      const std::vector<float> x = normal_values(kBatch * kNetworkInput.size(), 1);
      std::vector<std::vector<double>> gradients;
      std::vector<std::vector<float>> outputs;
      for (ModelFixture* fixture : {&planned, &spread}) {
        fixture->upload(x);
        forward(fixture->replicas, kTraining);
        outputs.push_back(fixture->outputs());
        gradients.push_back(
            fixture->gradients(normal_values(static_cast<int64_t>(outputs[0].size()), 2), kTraining));
      }
      EXPECT_TRUE(all_equal_bits(outputs[0], outputs[1]));
      EXPECT_EQ(gradients[0], gradients[1]);
      EXPECT_NE(std::count(gradients[0].begin(), gradients[0].end(), 0.0),
                static_cast<int64_t>(gradients[0].size()));
    }
}

// Each takes the place of the one before the last, a gap of exactly its size.
TEST(MemoryPlan, AChainOfEqualTensorsNeedsTwo) {
  const Graph graph = make_graph(Sequential{Linear(64), Linear(64), Linear(64), Linear(64)}, {1, 1, 64});
  EXPECT_EQ(plan_inference(graph, 16).size, 2 * 16 * 64);
}

TEST(MemoryPlan, EvaluationNeedsLessThanTraining) {
  for (const auto& [name, network] : small_networks()) {
    const Graph graph = make_graph(network, kNetworkInput);
    EXPECT_LT(plan_inference(graph, 10).size, plan_training(graph, 10).size) << name;
    EXPECT_LT(plan_training(graph, 10).size, plan_training(graph, 10).tensors) << name;
  }
}

// Memory planned for evaluation has no room for gradients, and all replicas must have the same schedule.
TEST(MemoryPlan, RefusesWhatItWasNotMadeFor) {
  const auto says = [](const auto& work, const char* part) {
    try {
      work();
    } catch (const Error& error) {
      if (error.status().code() == StatusCode::bad_argument &&
          std::string(error.what()).find(part) != std::string::npos)
        return testing::AssertionSuccess();
      return testing::AssertionFailure() << error.what();
    }
    return testing::AssertionFailure() << "nothing was refused";
  };
  const Graph graph = make_graph(small_lenet(), kNetworkInput);
  EXPECT_TRUE(says([&] { plan_training(graph, 2, {.checkpoint_layers = -1}); }, "checkpoint_layers is -1"));
  EXPECT_TRUE(says([&] { plan_training(graph, -2); }, "the batch is -2"));
  EXPECT_TRUE(says([&] { plan_inference(graph, -2); }, "the batch is -2"));
  Graph dead_end({1, 1, 5});
  dead_end.add(std::make_unique<NoOp>(Saves{}), {dead_end.input()}, {1, 1, 5});
  dead_end.set_output(dead_end.input());
  EXPECT_TRUE(says([&] { plan_training(dead_end, 2); }, "no operation uses the result of"));
  ModelFixture evaluation(small_lenet(), kNetworkInput, {0}, 2, plan_inference);
  evaluation.upload(normal_values(2 * kNetworkInput.size(), 1));
  forward(evaluation.replicas, {});
  EXPECT_TRUE(says([&] { backward(evaluation.replicas, kTraining); }, "planned for evaluation"));
  int rank = 0;
  ModelFixture mixed(small_lenet(), kNetworkInput, spread(2), 4, [&](const Graph& g, int64_t batch) {
    return plan_training(g, batch, {.checkpoint_layers = 2 * rank++});
  });
  EXPECT_TRUE(says([&] { forward(mixed.replicas, kTraining); }, "different schedules"));
}

}  // namespace
}  // namespace rondo::nn
