// Networks as graphs: the memory plan, the chain rule through the graph, and several replicas against one.
#include <gtest/gtest.h>

#include <rondo/kernels/core/platform.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/nn/graph/replica.h>
#include <rondo/nn/layers/batch_norm.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <set>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::all_near;
using test::normal_values;

// Two residual blocks, one with a shortcut of its own, every kind of layer once.
AnyModule small_residual_network() {
  const Conv2d::Options same = {.padding = 1, .bias = false};
  return Sequential{
      Conv2d(4, 3, {.padding = 1}),
      BatchNorm2d(),
      ReLU(),
      MaxPool2d(3, {.stride = 2, .padding = 1}),
      Residual(Sequential{Conv2d(4, 3, same), BatchNorm2d(), ReLU(), Conv2d(4, 3, same), BatchNorm2d()}),
      Residual(Sequential{Conv2d(8, 3, {.stride = 2, .padding = 1, .bias = false}), BatchNorm2d()},
               Sequential{Conv2d(8, 1, {.stride = 2, .bias = false})}),
      GlobalAvgPool(),
      Flatten(),
      Linear(3),
  };
}

AnyModule small_lenet() {
  return Sequential{Conv2d(3, 3), ReLU(),         AvgPool2d(2), Conv2d(5, 2), ReLU(),
                    Flatten(),    Dropout(0.25f), Linear(7),    ReLU(),       Linear(3)};
}

// A layer that uses its input twice, and the network's input once more at the end.
class TwiceTheInput : public Module {
 public:
  Value build(Graph& graph, Value x) const override {
    const Value y = Residual(Linear(x.shape.size())).build(graph, Flatten().build(graph, x));
    return Residual(Linear(y.shape.size()), Linear(y.shape.size())).build(graph, y);
  }
};

constexpr Shape kInput = {9, 9, 2};

// Replicas of a network on some devices, with the same parameters.
struct Fleet {
  Fleet(const AnyModule& network, Shape input, std::vector<int> rank_devices, int64_t batch,
        const std::function<MemoryPlan(const Graph&, int64_t)>& plan)
      : graph(make_graph(network, input)), devices(std::move(rank_devices)), whole_batch(batch) {
    const auto ranks = static_cast<int64_t>(devices.size());
    streams.resize(0);
    for (int device : devices) {
      const DeviceScope scope(device);
      streams.emplace_back();
    }
    for (int64_t r = 0; r < ranks; ++r) {
      const int64_t first = batch * r / ranks, size = batch * (r + 1) / ranks - first;
      replicas.emplace_back(graph, devices[static_cast<size_t>(r)], streams[static_cast<size_t>(r)],
                            plan(graph, size), size);
      replicas.back().set_batch(size, first);
      replicas.back().initialise(7);
    }
  }

  void upload(const std::vector<float>& x) {
    for (Replica& replica : replicas) {
      const Tensor input = replica.input();
      const auto begin = static_cast<size_t>(first_of(replica) * input.shape.size());
      put(replica, input.data, {x.data() + begin, static_cast<size_t>(input.size())});
    }
  }
  int64_t first_of(const Replica& replica) const {
    const auto r = &replica - replicas.data();
    return whole_batch * r / static_cast<int64_t>(replicas.size());
  }
  static void put(Replica& replica, float* to, std::span<const float> values) {
    if (values.empty()) return;
    const DeviceScope scope(replica.device());
    RONDO_CUDA_THROW(
        cudaMemcpyAsync(to, values.data(), values.size_bytes(), cudaMemcpyHostToDevice, replica.stream()));
    RONDO_CUDA_THROW(cudaStreamSynchronize(replica.stream()));
  }
  static std::vector<float> get(Replica& replica, VectorView<const float> from) {
    std::vector<float> values(static_cast<size_t>(from.size));
    if (values.empty()) return values;
    const DeviceScope scope(replica.device());
    RONDO_CUDA_THROW(cudaMemcpyAsync(values.data(), from.data, values.size() * sizeof(float),
                                     cudaMemcpyDeviceToHost, replica.stream()));
    RONDO_CUDA_THROW(cudaStreamSynchronize(replica.stream()));
    return values;
  }

  std::vector<float> outputs() {
    std::vector<float> all;
    for (Replica& replica : replicas) {
      const std::vector<float> part = get(replica, replica.output().elements());
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  // Gradients of sum over i of weights[i] * output[i], summed over the replicas.
  std::vector<double> gradients(const std::vector<float>& weights, const Pass& pass) {
    for (Replica& replica : replicas) {
      const Tensor gradient = replica.output_gradient();
      const auto begin = static_cast<size_t>(first_of(replica) * gradient.shape.size());
      put(replica, gradient.data, {weights.data() + begin, static_cast<size_t>(gradient.size())});
    }
    backward(replicas, pass);
    std::vector<double> sum(static_cast<size_t>(graph.parameter_arena_size()));
    for (Replica& replica : replicas) {
      const std::vector<float> part = get(replica, replica.gradients());
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
    return sum;
  }

  Graph graph;
  std::vector<int> devices;
  int64_t whole_batch;
  std::vector<Stream> streams;
  std::vector<Replica> replicas;
};

MemoryPlan trained(const Graph& graph, int64_t batch) { return plan_training(graph, batch); }

// Every tensor in a place of its own.
MemoryPlan without_reuse(const Graph& graph, int64_t batch) {
  MemoryPlan plan = plan_training(graph, batch);
  int64_t end = 0;
  const auto spread = [&](int64_t& place, Shape shape) {
    if (place == MemoryPlan::kNone) return;
    place = end;
    end += (shape.size() * batch + 63) / 64 * 64;
  };
  for (size_t value = 0; value < plan.values.size(); ++value) {
    const Graph::ValueInfo& info = graph.values()[value];
    if (info.alias_of >= 0) continue;
    spread(plan.values[value], info.shape);
    spread(plan.gradients[value], info.shape);
  }
  for (size_t value = 0; value < plan.values.size(); ++value) {
    const auto resolved = static_cast<size_t>(graph.resolved(static_cast<int>(value)));
    plan.values[value] = plan.values[resolved];
    plan.gradients[value] = plan.gradients[resolved];
  }
  for (size_t node = 0; node < plan.contributions.size(); ++node)
    for (size_t i = 0; i < plan.contributions[node].size(); ++i)
      spread(plan.contributions[node][i],
             graph.values()[static_cast<size_t>(graph.nodes()[node].inputs[i])].shape);
  plan.size = end;
  return plan;
}

const Pass kTraining = {.training = true, .seed = 3};

std::vector<std::pair<const char*, AnyModule>> networks() {
  return {{"residual", small_residual_network()}, {"lenet", small_lenet()}, {"twice", TwiceTheInput()}};
}

// What lies where must not matter: with memory reused and without, the same bits.
TEST(MemoryPlan, ReuseChangesNothing) {
  for (const auto& [name, network] : networks()) {
    SCOPED_TRACE(name);
    constexpr int64_t kBatch = 6;
    Fleet planned(network, kInput, {0}, kBatch, trained), spread(network, kInput, {0}, kBatch, without_reuse);
    EXPECT_LT(plan_training(planned.graph, kBatch).size, without_reuse(planned.graph, kBatch).size);
    const std::vector<float> x = normal_values(kBatch * kInput.size(), 1);
    std::vector<std::vector<double>> gradients;
    std::vector<std::vector<float>> outputs;
    for (Fleet* fleet : {&planned, &spread}) {
      fleet->upload(x);
      forward(fleet->replicas, kTraining);
      outputs.push_back(fleet->outputs());
      gradients.push_back(
          fleet->gradients(normal_values(static_cast<int64_t>(outputs[0].size()), 2), kTraining));
    }
    EXPECT_TRUE(all_equal_bits(outputs[0], outputs[1]));
    EXPECT_EQ(gradients[0], gradients[1]);
    EXPECT_NE(std::count(gradients[0].begin(), gradients[0].end(), 0.0),
              static_cast<int64_t>(gradients[0].size()));
  }
}

TEST(MemoryPlan, EvaluationNeedsLessThanTraining) {
  for (const auto& [name, network] : networks()) {
    const Graph graph = make_graph(network, kInput);
    EXPECT_LT(plan_inference(graph, 10).size, plan_training(graph, 10).size) << name;
    EXPECT_LT(plan_training(graph, 10).size, plan_training(graph, 10).tensors) << name;
  }
}

// The slope of the loss along random directions of the parameters, by central differences.
TEST(Graph, GradientsAreSlopes) {
  for (const auto& [name, network] : networks()) {
    SCOPED_TRACE(name);
    constexpr int64_t kBatch = 5;
    Fleet fleet(network, kInput, {0}, kBatch, trained);
    Replica& replica = fleet.replicas[0];
    fleet.upload(normal_values(kBatch * kInput.size(), 1));
    const std::vector<float> parameters = fleet.get(replica, replica.parameters());
    forward(fleet.replicas, kTraining);
    const std::vector<float> weights = normal_values(replica.output().size(), 2);
    const std::vector<double> gradient = fleet.gradients(weights, kTraining);
    const auto loss_at = [&](const std::vector<float>& at) {
      fleet.put(replica, replica.parameters().data, at);
      fleet.upload(normal_values(kBatch * kInput.size(), 1));  // backward may have overwritten the input
      forward(fleet.replicas, kTraining);
      const std::vector<float> output = fleet.outputs();
      return std::inner_product(output.begin(), output.end(), weights.begin(), 0.0);
    };
    // Directions of one parameter tensor at a time, so that none hides behind a larger one. A ReLU or a maximum that
    // changes its mind on the way makes a difference that is no slope: over all directions that is some per cent.
    for (const Parameter& parameter : fleet.graph.parameters()) {
      constexpr int kDirections = 9;
      constexpr float kStep = 1e-4f;
      double error = 0, size = 0;
      for (uint64_t seed = 0; seed < kDirections; ++seed) {
        const std::vector<float> direction = normal_values(parameter.size, seed);
        std::vector<float> above = parameters, below = parameters;
        double want = 0;
        for (int64_t i = 0; i < parameter.size; ++i) {
          const auto at = static_cast<size_t>(parameter.offset + i);
          const float d = direction[static_cast<size_t>(i)];
          above[at] += kStep * d;
          below[at] -= kStep * d;
          want += gradient[at] * d;
        }
        const double slope = (loss_at(above) - loss_at(below)) / (2 * kStep);
        error += std::abs(slope - want);
        size += std::abs(want);
      }
      EXPECT_LE(error, 0.15 * size + 0.02) << parameter.name << ": slopes of " << size << " in all";
    }
  }
}

std::vector<int> spread(int ranks) {
  std::vector<int> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back(rank % device_count());
  return devices;
}

// With shared statistics any number of replicas computes what one does, ragged and empty shards included.
TEST(Graph, ReplicasWithSharedStatisticsAreOneNetwork) {
  for (const auto& [name, network] : networks())
    for (int64_t batch : {7, 2})
      for (int ranks : {2, 3, 4}) {
        SCOPED_TRACE(concat(name, ", ", batch, " samples, ", ranks, " replicas"));
        Fleet one(network, kInput, {0}, batch, trained), many(network, kInput, spread(ranks), batch, trained);
        Communicator communicator(many.devices, {.slot_bytes = 1024, .bucket_bytes = 0});
        Pass shared = kTraining;
        shared.shared_statistics = &communicator;
        const std::vector<float> x = normal_values(batch * kInput.size(), 1);
        one.upload(x);
        many.upload(x);
        forward(one.replicas, kTraining);
        forward(many.replicas, shared);
        const std::vector<float> want = one.outputs();
        EXPECT_TRUE(all_near(many.outputs(), test::to_double(want), 2e-5, 1e-5));
        const std::vector<float> weights = normal_values(static_cast<int64_t>(want.size()), 2);
        const std::vector<double> gradient = one.gradients(weights, kTraining),
                                  sum = many.gradients(weights, shared);
        double error = 0, size = 0;
        for (size_t i = 0; i < sum.size(); ++i) {
          error += std::pow(sum[i] - gradient[i], 2);
          size += std::pow(gradient[i], 2);
        }
        EXPECT_LE(std::sqrt(error / size), 1e-5);
        if (many.graph.states().empty()) continue;
        const std::vector<float> states = one.get(one.replicas[0], one.replicas[0].states());
        for (Replica& replica : many.replicas)
          EXPECT_TRUE(all_near(many.get(replica, replica.states()), test::to_double(states), 1e-5, 1e-4));
      }
}

// Each with the statistics of its own shard: another network, as it should be.
TEST(Graph, LocalStatisticsAreNotShared) {
  Fleet one(small_residual_network(), kInput, {0}, 6, trained),
      two(small_residual_network(), kInput, spread(2), 6, trained);
  const std::vector<float> x = normal_values(6 * kInput.size(), 1);
  one.upload(x);
  two.upload(x);
  forward(one.replicas, kTraining);
  forward(two.replicas, kTraining);
  EXPECT_FALSE(all_near(two.outputs(), test::to_double(one.outputs()), 1e-2));
  EXPECT_FALSE(all_equal_bits(two.get(two.replicas[0], two.replicas[0].states()),
                              two.get(two.replicas[1], two.replicas[1].states())));
}

// Evaluation knows no batch: a sample's result does not depend on its company, and running statistics stay.
TEST(Graph, EvaluationTreatsEverySampleByItself) {
  Fleet fleet(small_residual_network(), kInput, {0}, 6, trained);
  const std::vector<float> x = normal_values(6 * kInput.size(), 1);
  fleet.upload(x);
  forward(fleet.replicas, kTraining);  // so that the running statistics are not those of the beginning
  const std::vector<float> states = fleet.get(fleet.replicas[0], fleet.replicas[0].states());
  fleet.upload(x);
  forward(fleet.replicas, {});
  const std::vector<float> together = fleet.outputs();
  fleet.replicas[0].set_batch(1, 0);
  fleet.upload({x.begin() + 2 * kInput.size(), x.begin() + 3 * kInput.size()});
  forward(fleet.replicas, {});
  EXPECT_TRUE(all_near(fleet.outputs(), {together[6], together[7], together[8]}, 1e-5, 1e-5));
  const std::vector<float> after = fleet.get(fleet.replicas[0], fleet.replicas[0].states());
  for (const Parameter& state : fleet.graph.states()) {
    if (state.name.find("running") == std::string::npos) continue;
    for (int64_t i = 0; i < state.size; ++i)
      EXPECT_EQ(after[static_cast<size_t>(state.offset + i)], states[static_cast<size_t>(state.offset + i)]);
  }
}

TEST(Graph, DropoutFollowsTheStepCounter) {
  Fleet fleet(Sequential{Flatten(), Dropout(0.5f)}, {1, 1, 64}, {0}, 2, trained);
  const std::vector<float> ones(128, 1);
  fleet.upload(ones);
  forward(fleet.replicas, kTraining);
  const std::vector<float> first = fleet.outputs();
  EXPECT_GT(std::count(first.begin(), first.end(), 0.0f), 20);
  forward(fleet.replicas, kTraining);
  EXPECT_TRUE(all_equal_bits(fleet.outputs(), first)) << "the same step";
  ASSERT_TRUE(test::ok(advance(fleet.replicas[0].step(), 1, fleet.replicas[0].stream())));
  forward(fleet.replicas, kTraining);
  EXPECT_FALSE(all_equal_bits(fleet.outputs(), first)) << "the next step";
  forward(fleet.replicas, {});
  EXPECT_TRUE(all_equal_bits(fleet.outputs(), ones)) << "evaluation";
}

TEST(Graph, ReluIsFusedWhereItCanBe) {
  const Graph fused = make_graph(small_lenet(), kInput);
  for (const Graph::Node& node : fused.nodes()) EXPECT_NE(node.op->description(), "ReLU");
  const Graph alone = make_graph(Sequential{MaxPool2d(2), ReLU()}, kInput);
  EXPECT_EQ(alone.nodes().back().op->description(), "ReLU") << "a maximum has no place for it";
}

TEST(Graph, NamesShapesAndCounts) {
  const Graph graph = make_graph(Sequential{Conv2d(20, 3), ReLU(), AvgPool2d(2), Conv2d(50, 5), ReLU(),
                                            AvgPool2d(2), Flatten(), Linear(128), ReLU(), Linear(10)},
                                 {28, 28, 1});
  EXPECT_EQ(graph.parameter_count(), 129'068);  // LeNet's
  EXPECT_EQ(graph.output().shape, (Shape{1, 1, 10}));
  std::vector<std::string> names;
  for (const Parameter& parameter : graph.parameters()) {
    names.push_back(parameter.name);
    EXPECT_EQ(parameter.offset % 4, 0);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "3.weight", "3.bias", "7.weight", "7.bias",
                                             "9.weight", "9.bias"}));
  EXPECT_EQ(text(Shape{9, 9, 50}), "9 x 9 x 50");
  EXPECT_EQ(text(Shape{1, 1, 10}), "10");
}

TEST(Graph, TheSameSeedBeginsTheSame) {
  Fleet a(small_residual_network(), kInput, {0}, 2, trained),
      b(small_residual_network(), kInput, {0}, 2, trained);
  EXPECT_TRUE(all_equal_bits(a.get(a.replicas[0], a.replicas[0].parameters()),
                             b.get(b.replicas[0], b.replicas[0].parameters())));
  b.replicas[0].initialise(8);
  EXPECT_FALSE(all_equal_bits(a.get(a.replicas[0], a.replicas[0].parameters()),
                              b.get(b.replicas[0], b.replicas[0].parameters())));
}

std::string refusal(const AnyModule& network, Shape input) {
  try {
    make_graph(network, input);
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::bad_argument);
    return error.what();
  }
  return "nothing was refused";
}

TEST(Graph, RefusesWhatDoesNotFit) {
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos ? testing::AssertionSuccess()
                                                : testing::AssertionFailure() << text;
  };
  EXPECT_TRUE(
      says(refusal(Conv2d(4, 10), kInput), "the filter of 10 x 10 does not fit the input of 9 x 9 x 2"));
  EXPECT_TRUE(says(refusal(Conv2d(0, 3), kInput), "Conv2d: 0 filters"));
  EXPECT_TRUE(says(refusal(Conv2d(4, 3, {.stride = 0}), kInput), "stride 0 x 0"));
  EXPECT_TRUE(says(refusal(Conv2d(4, 3, {.padding = -1}), kInput), "padding -1 x -1"));
  EXPECT_TRUE(says(refusal(MaxPool2d(10), kInput), "MaxPool2d: the window of 10 x 10 does not fit"));
  EXPECT_TRUE(says(refusal(AvgPool2d(2, {.padding = 2}), kInput), "AvgPool2d: the window is 2 x 2"));
  EXPECT_TRUE(says(refusal(Linear(0), kInput), "Linear: it has 0 outputs"));
  EXPECT_TRUE(says(refusal(Dropout(1), kInput), "the probability is 1"));
  EXPECT_TRUE(says(refusal(BatchNorm2d({.eps = -1}), kInput), "eps is -1"));
  EXPECT_TRUE(
      says(refusal(Residual(Conv2d(3, 3)), kInput), "the body makes 7 x 7 x 3 and the shortcut 9 x 9 x 2"));
  EXPECT_TRUE(says(refusal(Linear(1), {0, 1, 1}), "the input is 0 x 1 x 1"));
  Fleet fleet(Linear(2), {1, 1, 3}, {0}, 4, trained);
  EXPECT_THROW(fleet.replicas[0].set_batch(5, 0), Error);
  EXPECT_THROW(fleet.replicas[0].set_batch(-1, 0), Error);
}

}  // namespace
}  // namespace rondo::nn
