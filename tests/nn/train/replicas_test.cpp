// A network's gradients against finite differences, and several replicas against one.
#include <gtest/gtest.h>

#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/loss/squared_error.h>
#include <rondo/tests/nn/models/small_networks.h>
#include <rondo/tests/nn/train/model_fixture.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::all_near;
using test::normal_values;

TEST(Replica, HasTheWorkspaceOfEverySmallerBatch) {
  const Graph graph = make_graph(Sequential{Conv2d(512, 5, {.padding = 2})}, {7, 7, 1});
  int64_t most = 0, less_than_before = 0;
  for (int64_t batch = 0; batch <= 200; ++batch) {
    int64_t wanted = 0;
    for (const Graph::Node& node : graph.nodes()) wanted = std::max(wanted, node.op->workspace_bytes(batch));
    most = std::max(most, wanted);
    less_than_before += wanted < most;
    EXPECT_EQ(workspace_bytes(graph, batch), most) << batch;
  }
  EXPECT_GT(less_than_before, 0) << "any workspace would do";
}

// Every batch, and so many that nobody can try each of them.
TEST(Replica, HasABoundOfTheWorkspaceOfManyBatches) {
  constexpr int64_t kSlack = int64_t{44} << 20;
  const AnyModule linear = Linear(300), wide = Linear(2056), narrow = Linear(10);
  const AnyModule deep = Conv2d(512, 5, {.padding = 2}), strided = Conv2d(96, 3, {.stride = 2});
  const AnyModule normalised = Sequential{Conv2d(64, 3, {.padding = 1, .bias = false}), BatchNorm2d()};
  const struct {
    const AnyModule& network;
    Shape input;
  } cases[] = {{linear, {1, 1, 70}},  {wide, {1, 1, 1024}},     {narrow, {1, 1, 3000}},    {deep, {7, 7, 1}},
               {strided, {9, 7, 48}}, {normalised, {5, 6, 32}}, {normalised, {14, 14, 64}}};
  const std::pair<Math, DType> arithmetics[] = {{Math::fp32, DType::float32},
                                                {Math::tf32, DType::float32},
                                                {Math::tf32x3, DType::float32},
                                                {Math::fp32, DType::bfloat16}};
  test::Random random(3);
  for (const auto& [network, input] : cases)
    for (const auto& [math, type] : arithmetics) {
      const Graph graph = make_graph(network, input, math, type);
      SCOPED_TRACE(concat(graph.nodes()[0].op->description(), ", ", name_of(type)));
      for (const int64_t most : {int64_t{4200}, int64_t{9000}, int64_t{1'000'000}}) {
        const int64_t bound = workspace_bytes(graph, most);
        int64_t largest = 0;
        for (int64_t i = 0; i < 3000; ++i) {
          const int64_t batch = most - (i < 1000 ? i : random.below(most));
          for (const Graph::Node& node : graph.nodes())
            largest = std::max(largest, node.op->workspace_bytes(batch));
        }
        EXPECT_GE(bound, largest) << most;
        EXPECT_LE(bound, largest + kSlack) << most;
      }
    }
  EXPECT_GT(workspace_bytes(make_graph(wide, {1, 1, 1024}), int64_t{1} << 40), 0);
}

// The loss has the workspace of the largest batch only.
TEST(Replica, FewerSamplesNeedNoLargerWorkspaceOfTheLoss) {
  for (const int64_t outputs : {1, 3, 10, 64, 65, 1000}) {
    int64_t cross_entropy = 0, squares = 0;
    for (int64_t batch = 0; batch <= 5000; ++batch) {
      const int64_t more = softmax_cross_entropy_workspace_bytes(batch, outputs),
                    more_squares = squared_error_workspace_bytes(batch, outputs);
      ASSERT_GE(more, cross_entropy) << batch << " samples, " << outputs << " outputs";
      ASSERT_GE(more_squares, squares) << batch << " samples, " << outputs << " outputs";
      cross_entropy = more, squares = more_squares;
    }
    EXPECT_GT(cross_entropy + squares, 0);
  }
}

// Compares the gradients with central differences of the loss along random directions of the parameters.
TEST(Replicas, GradientsAreSlopes) {
  for (const auto& [name, network] : small_networks()) {
    SCOPED_TRACE(name);
    constexpr int64_t kBatch = 5;
    ModelFixture fixture(network, kNetworkInput, {0}, kBatch, trained);
    Replica& replica = fixture.replicas[0];
    fixture.upload(normal_values(kBatch * kNetworkInput.size(), 1));
    const std::vector<float> parameters = fixture.get(replica, replica.parameters());
    forward(fixture.replicas, kTraining);
    const std::vector<float> weights = normal_values(replica.output().size(), 2);
    const std::vector<double> gradient = fixture.gradients(weights, kTraining);
    const auto loss_at = [&](const std::vector<float>& at) {
      fixture.put(replica, replica.parameters().data, at);
      fixture.upload(
          normal_values(kBatch * kNetworkInput.size(), 1));  // backward may have overwritten the input
      forward(fixture.replicas, kTraining);
      const std::vector<float> output = fixture.outputs();
      return std::inner_product(output.begin(), output.end(), weights.begin(), 0.0);
    };
    // Each direction changes one parameter tensor, so that a tensor with large gradients cannot hide another.
    // If a ReLU or a maximum switches between the two points, their difference is not a derivative. This
    // affects some per cent of the directions.
    for (const Parameter& parameter : fixture.graph.parameters()) {
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

// With synchronised batch normalisation, any number of replicas computes the same, also with uneven and empty
// shards.
TEST(Replicas, WithSharedStatisticsAreOneNetwork) {
  for (const auto& [name, network] : small_networks())
    for (int64_t batch : {7, 2})
      for (int ranks : {2, 3, 4}) {
        SCOPED_TRACE(concat(name, ", ", batch, " samples, ", ranks, " replicas"));
        ModelFixture one(network, kNetworkInput, {0}, batch, trained),
            many(network, kNetworkInput, spread(ranks), batch, trained);
        const Pass shared = many.shared();
        const std::vector<float> x = normal_values(batch * kNetworkInput.size(), 1);
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

// With the statistics of its own shard, each replica is a different network, as intended.
TEST(Replicas, LocalStatisticsAreNotShared) {
  ModelFixture one(small_residual_network(), kNetworkInput, {0}, 6, trained),
      two(small_residual_network(), kNetworkInput, spread(2), 6, trained);
  const std::vector<float> x = normal_values(6 * kNetworkInput.size(), 1);
  one.upload(x);
  two.upload(x);
  forward(one.replicas, kTraining);
  forward(two.replicas, kTraining);
  EXPECT_FALSE(all_near(two.outputs(), test::to_double(one.outputs()), 1e-2));
  EXPECT_FALSE(all_equal_bits(two.get(two.replicas[0], two.replicas[0].states()),
                              two.get(two.replicas[1], two.replicas[1].states())));
  // Each is as a network that has its samples alone.
  for (size_t r = 0; r < 2; ++r) {
    ModelFixture alone(small_residual_network(), kNetworkInput, {0}, 3, trained);
    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(r) * 3 * kNetworkInput.size();
    alone.upload({begin, begin + 3 * kNetworkInput.size()});
    forward(alone.replicas, kTraining);
    EXPECT_TRUE(all_equal_bits(two.get(two.replicas[r], two.replicas[r].states()),
                               alone.get(alone.replicas[0], alone.replicas[0].states())))
        << "replica " << r;
  }
}

}  // namespace
}  // namespace rondo::nn
