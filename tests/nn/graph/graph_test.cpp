// Networks as graphs: evaluation, dropout, fused ReLUs, names and errors.
#include <gtest/gtest.h>

#include <rondo/kernels/core/math_mode.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/tests/kernels/launch_names.h>
#include <rondo/tests/nn/models/small_networks.h>
#include <rondo/tests/nn/train/model_fixture.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <limits>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::all_near;
using test::normal_values;

// In evaluation a sample's result does not depend on the batch, and running statistics do not change.
TEST(Graph, EvaluationTreatsEverySampleByItself) {
  ModelFixture fixture(small_residual_network(), kNetworkInput, {0}, 6, trained);
  const std::vector<float> x = normal_values(6 * kNetworkInput.size(), 1);
  fixture.upload(x);
  forward(fixture.replicas, kTraining);  // changes the running statistics
  const std::vector<float> states = fixture.get(fixture.replicas[0], fixture.replicas[0].states());
  fixture.upload(x);
  forward(fixture.replicas, {});
  const std::vector<float> together = fixture.outputs();
  fixture.replicas[0].set_batch(1, 0);
  fixture.upload({x.begin() + 2 * kNetworkInput.size(), x.begin() + 3 * kNetworkInput.size()});
  forward(fixture.replicas, {});
  EXPECT_TRUE(all_near(fixture.outputs(), {together[6], together[7], together[8]}, 1e-5, 1e-5));
  const std::vector<float> after = fixture.get(fixture.replicas[0], fixture.replicas[0].states());
  for (const Parameter& state : fixture.graph.states()) {
    if (state.name.find("running") == std::string::npos) continue;
    for (int64_t i = 0; i < state.size; ++i)
      EXPECT_EQ(after[static_cast<size_t>(state.offset + i)], states[static_cast<size_t>(state.offset + i)]);
  }
}

TEST(Graph, DropoutFollowsTheStepCounter) {
  ModelFixture fixture(Sequential{Flatten(), Dropout(0.5f)}, {1, 1, 64}, {0}, 2, trained);
  const std::vector<float> ones(128, 1);
  fixture.upload(ones);
  forward(fixture.replicas, kTraining);
  const std::vector<float> first = fixture.outputs();
  EXPECT_GT(std::count(first.begin(), first.end(), 0.0f), 20);
  forward(fixture.replicas, kTraining);
  EXPECT_TRUE(all_equal_bits(fixture.outputs(), first)) << "the same step";
  ASSERT_TRUE(test::ok(advance(fixture.replicas[0].step(), 1, fixture.replicas[0].stream())));
  forward(fixture.replicas, kTraining);
  EXPECT_FALSE(all_equal_bits(fixture.outputs(), first)) << "the next step";
  forward(fixture.replicas, {});
  EXPECT_TRUE(all_equal_bits(fixture.outputs(), ones)) << "evaluation";
}

TEST(Graph, ReluIsFusedWhereItCanBe) {
  const Graph fused = make_graph(small_lenet(), kNetworkInput);
  for (const Graph::Node& node : fused.nodes()) EXPECT_NE(node.op->description(), "ReLU");
  const Graph alone = make_graph(Sequential{MaxPool2d(2), ReLU()}, kNetworkInput);
  EXPECT_EQ(alone.nodes().back().op->description(), "ReLU") << "a maximum has no place for it";
}

TEST(Graph, NoReluIsFusedIntoAResultThatOthersUse) {
  Graph graph({1, 1, 4});
  const Value used = Linear(8).build(graph, graph.input()), last = Linear(8).build(graph, used);
  EXPECT_FALSE(graph.fuse_relu(used));
  EXPECT_TRUE(graph.fuse_relu(last));
}

// The shortcut adds the value from before the ReLU.
TEST(Graph, AResidualWhoseBodyBeginsWithAReluKeepsItsInput) {
  const AnyModule body = Sequential{ReLU(), Linear(4)};
  for (const AnyModule& residual : {AnyModule(Residual(body)), AnyModule(Residual(body, Linear(4)))}) {
    const Graph graph = make_graph(Sequential{Linear(4), residual}, {1, 1, 4});
    EXPECT_EQ(graph.nodes()[0].op->description().find("ReLU"), std::string::npos);
    EXPECT_EQ(graph.nodes()[1].op->description(), "ReLU");
  }
}

// A convolution computes the sums of a batch norm that follows directly, also with a ReLU in between.
TEST(Graph, SumsOfBatchNormAreFusedWhereTheyCanBe) {
  const auto fused = [](const AnyModule& network) {
    return make_graph(network, kNetworkInput).nodes()[0].sums_next;
  };
  EXPECT_TRUE(fused(Sequential{Conv2d(8, 3), BatchNorm2d()}));
  EXPECT_TRUE(fused(Sequential{Conv2d(8, 3), ReLU(), BatchNorm2d()}));
  EXPECT_FALSE(fused(Sequential{Conv2d(8, 3), AvgPool2d(2), BatchNorm2d()}));
  EXPECT_FALSE(fused(Sequential{AvgPool2d(2), BatchNorm2d()}));
  EXPECT_FALSE(fused(Sequential{Conv2d(8, 3), ReLU()}));
}

// Of images with enough channels for tensor cores, whose kernel adds them while it has its results. Vector
// tiles do not, and tf32x3 has none.
TEST(Graph, FusedSumsAreThoseOfTheOutput) {
  SKIP_IF_REFUSED(check_math("math", Math::tf32x3));
  constexpr Shape kInput = {9, 10, 8};
  constexpr int64_t kBatch = 5;
  ModelFixture fixture(Sequential{Conv2d(12, 3), BatchNorm2d({.momentum = 1})}, kInput, {0}, kBatch, trained,
                       Math::tf32x3);
  Replica& replica = fixture.replicas[0];
  fixture.upload(normal_values(kBatch * kInput.size(), 1));
  std::vector<float> y;
  {
    test::LaunchNames launches;
    forward(fixture.replicas, kTraining, [&](int node) {
      if (node == 0) y = fixture.get(replica, replica.output_of(0).elements<float>());
    });
    EXPECT_EQ(std::ranges::count(launches.names, "conv2d_sums"), 1);
    EXPECT_EQ(std::ranges::count(launches.names, "batch_norm_sums"), 0);
  }
  const std::vector<float> states = fixture.get(replica, replica.states());
  const auto state = [&](const std::string& name, int64_t channel) {
    for (const Parameter& s : fixture.graph.states())
      if (s.name.ends_with(name)) return static_cast<double>(states[static_cast<size_t>(s.offset + channel)]);
    ADD_FAILURE() << "there is no " << name;
    return 0.0;
  };
  for (int64_t c = 0; c < 12; ++c) {
    double sum = 0, squares = 0;
    const double count = static_cast<double>(y.size()) / 12;
    for (size_t i = static_cast<size_t>(c); i < y.size(); i += 12) {
      sum += static_cast<double>(y[i]);
      squares += static_cast<double>(y[i]) * static_cast<double>(y[i]);
    }
    const double mean = sum / count, variance = (squares - count * mean * mean) / (count - 1);
    EXPECT_NEAR(state("running_mean", c), mean, 1e-6);
    EXPECT_NEAR(state("running_var", c), variance, 1e-5 * variance);
  }
  test::LaunchNames launches;
  forward(fixture.replicas, {});
  EXPECT_EQ(std::ranges::count(launches.names, "conv2d_sums"), 0) << "evaluation";
}

TEST(Graph, NamesShapesAndCounts) {
  const Graph graph = make_graph(Sequential{Conv2d(20, 3), ReLU(), AvgPool2d(2), Conv2d(50, 5), ReLU(),
                                            AvgPool2d(2), Flatten(), Linear(128), ReLU(), Linear(10)},
                                 {28, 28, 1});
  EXPECT_EQ(graph.parameter_count(), 129'068);  // LeNet
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
  ModelFixture a(small_residual_network(), kNetworkInput, {0}, 2, trained),
      b(small_residual_network(), kNetworkInput, {0}, 2, trained);
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

TEST(Graph, PoolingHasCeilModePaddingOfEachSideAndDilation) {
  const auto rows_and_columns = [](const PoolOptions& options) {
    const Graph graph = make_graph(MaxPool2d(2, options), {9, 8, 2});
    const Shape out = graph.output().shape;
    return std::pair(out.height, out.width);
  };
  EXPECT_EQ(rows_and_columns({}), std::pair(int64_t{4}, int64_t{4}));
  EXPECT_EQ(rows_and_columns({.ceil_mode = true}), std::pair(int64_t{5}, int64_t{4}));
  EXPECT_EQ(rows_and_columns({.padding = {1, 1}}), std::pair(int64_t{5}, int64_t{5}));
  EXPECT_EQ(rows_and_columns({.stride = 1, .padding_end = Size2d{0, 1}}), std::pair(int64_t{8}, int64_t{8}));
  EXPECT_EQ(rows_and_columns({.stride = 1, .dilation = {2, 3}}), std::pair(int64_t{7}, int64_t{5}));
}

TEST(Graph, AdaptivePoolingHasTheOutputAskedFor) {
  const Graph graph = make_graph(Sequential{AdaptiveMaxPool2d({4, 11}), AdaptiveAvgPool2d(3)}, {9, 8, 2});
  EXPECT_EQ(graph.output().shape, (Shape{3, 3, 2}));
  EXPECT_EQ(graph.nodes()[0].op->description(), "adaptive maximum to 4x11");
  // Windows of 3 rows each; 8 columns have 10 borders of windows inside, so their sizes add up to 18.
  EXPECT_EQ(graph.nodes()[0].op->flops(), 4 * 3 * 2.0 * (8 + 11 - 1));
  EXPECT_EQ(graph.nodes()[0].op->saved_floats(), 4 * 11 * 2);
  EXPECT_EQ(graph.nodes()[1].op->description(), "adaptive average to 3x3");
  EXPECT_EQ(graph.nodes()[1].op->saved_floats(), 0);
}

TEST(Graph, ConvolutionsHavePaddingOfEachSide) {
  const Graph graph = make_graph(Sequential{Conv2d(4, 3, {.padding = {2, 1}, .padding_end = Size2d{0, 3}}),
                                            Conv2d(4, 3, {.padding = 1, .padding_end = 1}),
                                            Conv2d(4, 3, {.groups = 2, .padding_end = 1})},
                                 kNetworkInput);
  const auto shape = [&](size_t node) { return graph.value(graph.nodes()[node].output).shape; };
  EXPECT_EQ(shape(0), (Shape{9, 11, 4}));
  EXPECT_EQ(shape(1), (Shape{9, 11, 4}));
  EXPECT_EQ(shape(2), (Shape{8, 10, 4}));
  EXPECT_EQ(graph.nodes()[0].op->description(), "conv 4 @ 3x3, padding 2 x 1, at the end 0 x 3");
  EXPECT_EQ(graph.nodes()[1].op->description(), "conv 4 @ 3x3");
  EXPECT_EQ(graph.nodes()[2].op->description(), "conv 4 @ 3x3, 2 groups, padding 0 x 0, at the end 1 x 1");
}

TEST(Graph, ASequenceHasModules) {
  for (const auto& make : {+[] { (void)Sequential{}; }, +[] { (void)Sequential(std::vector<AnyModule>{}); }})
    EXPECT_EQ(test::error_of(make), "Sequential: there are no modules, must be at least one");
}

TEST(Graph, RefusesWhatDoesNotFit) {
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos ? testing::AssertionSuccess()
                                                : testing::AssertionFailure() << text;
  };
  EXPECT_TRUE(says(refusal(Conv2d(4, 10), kNetworkInput),
                   "the filter of 10 x 10 does not fit the input of 9 x 9 x 2"));
  EXPECT_TRUE(says(refusal(Conv2d(0, 3), kNetworkInput), "Conv2d: 0 filters"));
  EXPECT_TRUE(says(refusal(Conv2d(4, 3, {.stride = 0}), kNetworkInput), "stride 0 x 0"));
  EXPECT_TRUE(says(refusal(Conv2d(4, 3, {.padding = -1}), kNetworkInput), "padding -1 x -1"));
  EXPECT_TRUE(says(refusal(Conv2d(4, 3, {.padding_end = Size2d{0, -1}}), kNetworkInput),
                   "padding 0 x 0, at the end 0 x -1: all but the padding must be at least 1"));
  EXPECT_TRUE(says(refusal(Conv2d(4, 11, {.padding = 1, .padding_end = 0}), kNetworkInput),
                   "does not fit the input of 9 x 9 x 2 with padding 1 x 1, at the end 0 x 0"));
  EXPECT_TRUE(says(refusal(ConvTranspose2d(0, 3), kNetworkInput), "ConvTranspose2d: 0 filters"));
  EXPECT_TRUE(says(refusal(ConvTranspose2d(4, 3, {.groups = 4}), kNetworkInput),
                   "ConvTranspose2d: groups is 4, must be a divisor of 2 input channels"));
  EXPECT_TRUE(says(refusal(ConvTranspose2d(4, 3, {.stride = 2, .output_padding = {1, 2}}), kNetworkInput),
                   "output_padding is 1 x 2, must be at least 0 and below the stride, 2 x 2"));
  EXPECT_TRUE(says(refusal(ConvTranspose2d(4, 3, {.padding = {6, 5}}), kNetworkInput),
                   "padding 6 x 5 leaves nothing of the result of an input of 9 x 9 x 2"));
  EXPECT_TRUE(says(refusal(MaxPool2d(10), kNetworkInput),
                   "MaxPool2d: the window of 10 x 10 with dilation 1 x 1 does not"));
  EXPECT_TRUE(says(refusal(AvgPool2d(2, {.padding = 2}), kNetworkInput), "AvgPool2d: the window is 2 x 2"));
  EXPECT_TRUE(says(refusal(AvgPool2d(2, {.padding_end = Size2d{0, 2}}), kNetworkInput), "at the end 0 x 2"));
  EXPECT_TRUE(says(refusal(MaxPool2d(2, {.dilation = {1, 0}}), kNetworkInput), "the dilation 1 x 0"));
  EXPECT_TRUE(says(refusal(MaxPool2d(3, {.dilation = 5}), kNetworkInput),
                   "MaxPool2d: the window of 3 x 3 with dilation 5 x 5 does not fit the input of 9 x 9 x 2"));
  EXPECT_TRUE(says(refusal(MaxPool2d(3, {.padding = {5, 0}, .dilation = 2}), kNetworkInput),
                   "dilation 2 x 2 and the padding 5 x 0"));
  EXPECT_TRUE(says(refusal(AvgPool2d(2, {.dilation = {2, 1}}), kNetworkInput),
                   "AvgPool2d: the dilation is 2 x 1, must be 1 x 1: only MaxPool2d has dilation"));
  EXPECT_TRUE(says(refusal(AdaptiveAvgPool2d({3, 0}), kNetworkInput),
                   "AdaptiveAvgPool2d: the output is 3 x 0, its sides must be at least 1"));
  // What the kernels refuse, the layers do.
  EXPECT_TRUE(
      says(refusal(AdaptiveAvgPool2d({3, 65536}), kNetworkInput),
           "AdaptiveAvgPool2d: adaptive_avg_pool: a side of image or window is 65536, must be at most "
           "65535"));
  EXPECT_TRUE(says(refusal(AdaptiveMaxPool2d(2), {1, 65536, 1}), "65536, must be at most 65535"));
  EXPECT_TRUE(says(refusal(AvgPool2d(1), {65536, 1, 1}), "AvgPool2d: avg_pool: a side of image"));
  EXPECT_TRUE(says(refusal(MaxPool2d(1), {65535, 65535, 1}), "MaxPool2d: max_pool: an image or window has"));
  EXPECT_EQ(make_graph(AdaptiveAvgPool2d({1, 65535}), {1, 65535, 1}).output().shape.width, 65535);
  EXPECT_TRUE(
      says(refusal(AdaptiveMaxPool2d({-1, 3}), kNetworkInput), "AdaptiveMaxPool2d: the output is -1"));
  EXPECT_TRUE(says(refusal(Linear(0), kNetworkInput), "Linear: it has 0 outputs"));
  EXPECT_TRUE(says(refusal(Dropout(1), kNetworkInput), "the probability is 1"));
  EXPECT_TRUE(says(refusal(BatchNorm2d({.eps = -1}), kNetworkInput), "eps is -1"));
  EXPECT_TRUE(says(refusal(Residual(Conv2d(3, 3)), kNetworkInput),
                   "the output of the body is 7 x 7 x 3, that of the shortcut is 9 x 9 x 2"));
  EXPECT_TRUE(says(refusal(Linear(1), {0, 1, 1}), "the input is 0 x 1 x 1"));
  // Products that exceed 64 bits.
  constexpr int64_t kHuge = int64_t{1} << 62, kMost = std::numeric_limits<int64_t>::max();
  EXPECT_TRUE(says(refusal(Linear(kHuge), kNetworkInput), "4611686018427387904"));
  EXPECT_TRUE(says(refusal(Linear(kMost), kNetworkInput), "9223372036854775807"));
  EXPECT_TRUE(says(refusal(Conv2d(kHuge, 3), kNetworkInput), "4611686018427387904"));
  EXPECT_TRUE(says(refusal(Conv2d(4, kHuge, {.padding = kHuge}), kNetworkInput), "4611686018427387904"));
  EXPECT_TRUE(says(refusal(Conv2d(4, 3, {.stride = kMost}), kNetworkInput), "9223372036854775807"));
  EXPECT_TRUE(says(refusal(MaxPool2d(3, {.padding = kHuge}), kNetworkInput), "4611686018427387904"));
  EXPECT_TRUE(says(refusal(AvgPool2d(kMost, {.padding = kHuge - 1}), kNetworkInput), "9223372036854775807"));
  EXPECT_TRUE(says(refusal(MaxPool2d(2, {.stride = kMost}), kNetworkInput), "9223372036854775807"));
  EXPECT_TRUE(says(refusal(MaxPool2d(2, {.dilation = kMost}), kNetworkInput), "9223372036854775807"));
  EXPECT_TRUE(says(refusal(AdaptiveAvgPool2d(kHuge), kNetworkInput), "4611686018427387904"));
  EXPECT_TRUE(says(refusal(Linear(1), {1 << 20, 1 << 20, 1 << 20}), "1048576 x 1048576 x 1048576"));
  const Graph graph = make_graph(Linear(2), {1, 1, 3});
  EXPECT_THROW(plan_training(graph, kHuge), Error);
  EXPECT_THROW(plan_inference(graph, kHuge), Error);
  ModelFixture fixture(Linear(2), {1, 1, 3}, {0}, 4, trained);
  EXPECT_THROW(fixture.replicas[0].set_batch(5, 0), Error);
  EXPECT_THROW(fixture.replicas[0].set_batch(-1, 0), Error);
}

// Each tensor is within its limit; their sums would exceed 64 bits in the end.
TEST(Graph, SumsOfTensorsAreLimited) {
  const auto out_of_memory = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.status().code(), StatusCode::out_of_resources);
      return error.what();
    }
    return "nothing was refused";
  };
  Graph graph({1, 1, 1});
  for (int i = 0; i < 128; ++i) graph.parameter(concat("p", i), {kMostElements}, Init::zeros());
  EXPECT_EQ(graph.parameter_arena_size(), kMostArena);
  EXPECT_EQ(out_of_memory([&] { graph.parameter("last", {1}, Init::zeros()); }),
            "graph: the tensors up to 'last' need more than 2^57 bytes of device memory");
  EXPECT_EQ(graph.parameters().size(), 128u);

  const Graph wide = make_graph(Sequential(std::vector<AnyModule>(100, Linear(1 << 24))), {1, 1, 1 << 24});
  EXPECT_EQ(out_of_memory([&] { plan_training(wide, 1 << 24); }),
            "memory plan: the activations and their gradients need more than 2^57 bytes of device memory");
  EXPECT_NO_THROW(plan_inference(wide, 1 << 24)) << "without gradients there are fewer";
}

}  // namespace
}  // namespace rondo::nn
