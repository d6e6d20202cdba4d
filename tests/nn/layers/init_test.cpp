// Initial weights: the values in device memory have the distributions of the papers.
#include <gtest/gtest.h>

#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/tests/rondo/support/files.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondo::nn {
namespace {

using Values = std::vector<float>;

// A network's initial parameters, in order of creation.
std::vector<Values> beginning(const AnyModule& network, Shape input, uint64_t seed = 3) {
  DataParallel model(network, input, {.devices = {0}, .batch = 1, .seed = seed});
  model.take_loss_stats();  // waits
  std::vector<Values> all;
  for (const Parameter& parameter : model.graph().parameters()) {
    all.emplace_back(static_cast<size_t>(parameter.size));
    RONDO_CUDA_THROW(cudaMemcpy(all.back().data(), model.replicas()[0].parameter(parameter),
                                all.back().size() * sizeof(float), cudaMemcpyDeviceToHost));
  }
  return all;
}

double largest(const Values& values) {
  double most = 0;
  for (const float value : values) most = std::max(most, std::abs(double{value}));
  return most;
}

double deviation(const Values& values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// All tensors here have thousands of weights, so 3 % is more than three standard deviations of the estimate.
void expect_uniform(const Values& values, double bound) {
  EXPECT_LE(largest(values), bound * (1 + 1e-6));
  EXPECT_GE(largest(values), bound * 0.99);
  EXPECT_NEAR(deviation(values), bound / std::sqrt(3.0), 0.03 * bound / std::sqrt(3.0));
}

void expect_normal(const Values& values, double of) {
  EXPECT_NEAR(deviation(values), of, 0.03 * of);
  EXPECT_GE(largest(values), 3 * of);  // uniform values would end at sqrt(3)
  EXPECT_LE(largest(values), 7 * of);
}

struct Case {
  WeightInit weights;
  void (*expect)(const Values&, double);
  double (*of)(double in, double out);
};
const Case kCases[] = {
    {WeightInit(), expect_uniform, [](double in, double) { return 1 / std::sqrt(in); }},
    {WeightInit::layer_default(), expect_uniform, [](double in, double) { return std::sqrt(1 / in); }},
    {WeightInit::normal(0.25f), expect_normal, [](double, double) { return 0.25; }},
    {WeightInit::xavier_uniform(), expect_uniform,
     [](double in, double out) { return std::sqrt(6 / (in + out)); }},
    {WeightInit::xavier_normal(), expect_normal,
     [](double in, double out) { return std::sqrt(2 / (in + out)); }},
    {WeightInit::kaiming_uniform(), expect_uniform, [](double in, double) { return std::sqrt(6 / in); }},
    {WeightInit::kaiming_normal(), expect_normal, [](double in, double) { return std::sqrt(2 / in); }},
};

// 40 filters of 3 x 5 x 13. The stride has no influence.
TEST(WeightInit, OfAConvolution) {
  for (const Case& a : kCases) {
    const Conv2d conv(40, {3, 5}, {.stride = {2, 1}, .padding = {1, 0}, .weights = a.weights});
    a.expect(beginning(conv, {9, 7, 13})[0], a.of(3 * 5 * 13, 3 * 5 * 40));
  }
}

TEST(WeightInit, OfALinearLayer) {
  for (const Case& a : kCases)
    a.expect(beginning(Linear(300, {.weights = a.weights}), {4, 5, 7})[0], a.of(140, 300));
}

TEST(WeightInit, BiasesBeginAsTheWeightsByDefaultAndElseAtZero) {
  for (const Case& a : kCases) {
    const Values of_linear = beginning(Linear(4000, {.weights = a.weights}), {1, 1, 16})[1];
    const Values of_conv = beginning(Conv2d(4000, {1, 4}, {.weights = a.weights}), {1, 4, 4})[1];
    if (&a - kCases < 2) {
      expect_uniform(of_linear, 0.25);
      expect_uniform(of_conv, 0.25);
    } else {
      EXPECT_EQ(largest(of_linear), 0);
      EXPECT_EQ(largest(of_conv), 0);
    }
  }
  EXPECT_EQ(beginning(Linear(3, {.bias = false, .weights = WeightInit::normal(1)}), {1, 1, 2}).size(), 1u);
}

TEST(WeightInit, SeedsAndLayersDiffer) {
  const AnyModule two = Sequential{Linear(50, {.weights = WeightInit::kaiming_normal()}),
                                   Linear(50, {.weights = WeightInit::kaiming_normal()})};
  const std::vector<Values> some = beginning(two, {1, 1, 50}, 1), other = beginning(two, {1, 1, 50}, 2);
  EXPECT_EQ(some, beginning(two, {1, 1, 50}, 1));
  EXPECT_NE(some[0], other[0]);
  EXPECT_NE(some[0], some[2]);
}

// Every convolution and linear layer is initialised, and no position embedding. The default's stddev is
// Kaiming's divided by sqrt(6).
TEST(WeightInit, OfWholeModels) {
  const auto weights_of = [](const AnyModule& network, Shape input) {
    std::vector<Init> weights;
    const Graph graph = make_graph(network, input);
    for (const Parameter& parameter : graph.parameters())
      if (parameter.shape.size() == 2 || parameter.shape.size() == 4) weights.push_back(parameter.init);
    return weights;
  };
  const WeightInit kaiming = WeightInit::kaiming_uniform();
  const auto expect_follows = [&](const std::vector<Init>& plain, const std::vector<Init>& scaled,
                                  size_t layers) {
    ASSERT_EQ(plain.size(), layers);
    ASSERT_EQ(scaled.size(), layers);
    for (size_t i = 0; i < layers; ++i)
      EXPECT_NEAR(scaled[i].scale / plain[i].scale, std::sqrt(6.0), 1e-5) << "layer " << i;
  };
  const Shape image = {28, 28, 1}, vector = {1, 1, 8};
  expect_follows(weights_of(lenet(), image), weights_of(lenet(10, kaiming), image), 4);
  expect_follows(weights_of(resnet18(), image), weights_of(resnet18(10, kaiming), image), 21);
  expect_follows(weights_of(vit(), image), weights_of(vit(10, kaiming), image), 18);
  expect_follows(weights_of(mlp(3, 16, 2), vector), weights_of(mlp(3, 16, 2, kaiming), vector), 4);
  for (const std::string& name : model_names())
    expect_follows(weights_of(model(name).network, model(name).input),
                   weights_of(model(name, kaiming).network, model(name).input),
                   weights_of(model(name).network, model(name).input).size());
}

TEST(WeightInit, Names) {
  const Fans fans = {50, 100};
  const auto expect = [&](const std::string& name, Init init) {
    EXPECT_EQ(weight_init(name).weights(fans).kind, init.kind) << name;
    EXPECT_EQ(weight_init(name).weights(fans).scale, init.scale) << name;
  };
  expect("default", WeightInit().weights(fans));
  expect("normal", Init::normal(0.01f));
  expect("xavier", Init::uniform(0.2f));
  expect("kaiming", Init::normal(0.2f));
  for (const char* name : {"he", "", "Xavier"})
    EXPECT_EQ(
        test::error_of([&] { weight_init(name); }),
        concat("the initial weights are '", name, "', must be one of: default, normal, xavier, kaiming"));
}

TEST(WeightInit, RefusesDeviationsThatAreNone) {
  EXPECT_EQ(test::error_of([] { WeightInit::normal(-0.5f); }),
            "initial weights: the standard deviation is -0.5, must be finite and at least 0");
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    EXPECT_NE(test::error_of([&] { WeightInit::normal(bad); }), "");
  EXPECT_EQ(largest(beginning(Linear(9, {.weights = WeightInit::normal(0)}), {1, 1, 9})[0]), 0);
}

}  // namespace
}  // namespace rondo::nn
