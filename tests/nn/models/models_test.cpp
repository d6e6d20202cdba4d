// The models have the documented sizes, and a summary adds up.
#include <gtest/gtest.h>

#include <rondo/nn/diagnostics/summary.h>
#include <rondo/nn/models/models.h>

namespace rondo::nn {
namespace {

Summary summary_of(const std::string& name, int64_t batch = 4) {
  const NamedModel named = model(name);
  return summarise(make_graph(named.network, named.input), batch);
}

// conv: k * (r * s * c + 1); batch norm: 2 c; linear: (inputs + 1) * outputs
TEST(Models, ParametersAreThoseOfTheLessons) {
  EXPECT_EQ(summary_of("lenet").parameters, 20 * 10 + 50 * 501 + 801 * 128 + 129 * 10);
  const auto conv = [](int64_t k, int64_t side, int64_t c) { return k * (side * side * c + 1); };
  const auto block = [&](int64_t k, int64_t c) {
    return conv(k, 3, c) + conv(k, 3, k) + 4 * k + (c == k ? 0 : conv(k, 1, c));
  };
  const auto stage = [&](int64_t k, int64_t c) { return block(k, c) + block(k, k); };
  EXPECT_EQ(summary_of("resnet18").parameters, conv(64, 3, 1) + 128 + stage(64, 64) + stage(128, 64) +
                                                   stage(256, 128) + stage(512, 256) + 513 * 10);
  // Per block: two layer norms, the projections of the attention, the two layers of the MLP.
  EXPECT_EQ(summary_of("vit").parameters,
            conv(64, 4, 1) + 49 * 64 +
                4 * (2 * 128 + conv(192, 1, 64) + conv(64, 1, 64) + conv(128, 1, 64) + conv(64, 1, 128)) +
                128 + 65 * 10);
  EXPECT_EQ(summary_of("mlp").parameters, 1025 * 2056 + 89 * 2057 * 2056 + 2057 * 10);
}

TEST(Models, ResNetHalvesItsSidesFourTimesTheChannels) {
  const NamedModel named = model("resnet18");
  const Graph graph = make_graph(named.network, named.input);
  std::vector<Shape> added;
  for (const SummaryRow& row : summarise(graph, 1).rows)
    if (row.layer == "add, ReLU") added.push_back(row.output);
  EXPECT_EQ(added, (std::vector<Shape>{{28, 28, 64},
                                       {28, 28, 64},
                                       {14, 14, 128},
                                       {14, 14, 128},
                                       {7, 7, 256},
                                       {7, 7, 256},
                                       {4, 4, 512},
                                       {4, 4, 512}}));
  EXPECT_EQ(graph.output().shape, (Shape{1, 1, 10}));
}

TEST(Models, ASummaryHasTheActivationsOfTheCheckpoints) {
  const NamedModel named = model("mlp");
  const Graph graph = make_graph(named.network, named.input);
  const Summary all = summarise(graph, 64), some = summarise(graph, 64, 10);
  EXPECT_LT(some.training_bytes, all.training_bytes / 2);
  EXPECT_EQ(all.training.total() - some.training.total(), all.training_bytes - some.training_bytes);
}

TEST(Models, UnknownNamesAreRefused) {
  try {
    model("alexnet");
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the model is 'alexnet', must be one of: lenet, resnet18, mobilenet, vit, mlp");
  }
  EXPECT_THROW(mlp(-1), Error);
}

TEST(Summary, AddsUp) {
  for (const std::string& name : model_names()) {
    const Summary summary = summary_of(name);
    int64_t parameters = 0;
    double flops = 0;
    for (const SummaryRow& row : summary.rows) parameters += row.parameters, flops += row.flops;
    EXPECT_EQ(summary.parameters, parameters) << name;
    EXPECT_EQ(summary.flops, flops) << name;
    EXPECT_GE(summary.parameter_bytes, 4 * parameters);
    EXPECT_LT(summary.training_bytes, summary.training_bytes_without_reuse);
    EXPECT_LT(summary.evaluation_bytes, summary.training_bytes);
  }
  // Two operations per product in LeNet's convolutions and linear layers, one per averaged element.
  EXPECT_EQ(summary_of("lenet").flops,
            2.0 * (26 * 26 * 20 * 9 + 9 * 9 * 50 * 500 + 800 * 128 + 1280) + 4 * (13 * 13 * 20 + 4 * 4 * 50));
  EXPECT_THROW(summary_of("lenet", 0), Error);
}

TEST(Summary, MemoryGrowsWithTheBatch) {
  EXPECT_GT(summary_of("resnet18", 8).training_bytes,
            1.9 * static_cast<double>(summary_of("resnet18", 4).training_bytes));
}

}  // namespace
}  // namespace rondo::nn
