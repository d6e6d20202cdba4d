// The copy of the parameters that is rounded to the type of the activations: optimizers write it with the
// parameters, and it is rounded by a pass of its own only after other changes.
#include <gtest/gtest.h>

#include <rondo/kernels/core/math_mode.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/nn/checkpoint/checkpoint.h>
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/nn/train/model_fixture.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <memory>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::normal_values;
using test::parameters_of;
using test::small_network;
using test::some_labels;

constexpr float kRate = 0.05f;

// An optimizer of a program: it writes the float32 parameters only.
class OnlyParameters : public Optimizer {
 public:
  explicit OnlyParameters(DataParallel& model) : Optimizer(model, kRate, {}) {}
  void step(Replica& replica, size_t rank, float scale) override {
    throw_if_error(sgd_update(replica.parameters(), {}, replica.gradients(), state(rank).rate.data(),
                              {.scale = scale, .first_nonfinite = replica.first_nonfinite()},
                              replica.stream()));
  }
  std::string kind() const override { return "sgd"; }
  std::vector<OptimizerSetting> settings() const override {
    return {{"momentum", 0}, {"weight_decay", 0}, {"nesterov", 0}};
  }
};

class RoundedParameters : public testing::Test {
 protected:
  void SetUp() override { SKIP_IF_REFUSED(check_factor_type("bf16", DType::bfloat16)); }

  static DataParallelOptions options(DType activations = DType::bfloat16) {
    DataParallelOptions options = test::small_options(2);
    options.activations = activations;
    options.micro_batches = 2;
    options.keep_finite = true;
    return options;
  }
  static void train(DataParallel& model, Optimizer& optimizer, int steps, float scale = 1) {
    std::vector<float> x = normal_values(12 * test::kSmallInput.size(), 3);
    for (float& value : x) value *= scale;
    for (int step = 0; step < steps; ++step) model.train_step(x, some_labels(12, 4), optimizer);
  }
  static std::vector<float> copy_of(Replica& replica) {
    return ModelFixture::get(replica, replica.rounded_parameters());
  }
  static void expect_rounded(DataParallel& model) {
    for (Replica& replica : model.replicas()) {
      std::vector<float> want = ModelFixture::get(replica, replica.parameters());
      for (float& value : want) value = static_cast<float>(static_cast<__nv_bfloat16>(value));
      EXPECT_TRUE(all_equal_bits(copy_of(replica), want));
    }
  }
  // The number of casts that a step enqueues on the first replica.
  static int64_t casts_in_a_step(DataParallel& model, Optimizer& optimizer) {
    Trace trace(model.options().devices);
    model.set_trace(&trace);
    train(model, optimizer, 1);
    model.set_trace(nullptr);
    const std::vector<TraceSpan> spans = trace.collect();
    return std::count_if(spans.begin(), spans.end(),
                         [](const TraceSpan& span) { return span.rank == 0 && span.name == "cast"; });
  }
};

TEST_F(RoundedParameters, AreWrittenByTheOptimizers) {
  for (const int kind : {0, 1, 2}) {
    DataParallel model(small_network(), test::kSmallInput, options());
    std::unique_ptr<Optimizer> optimizer;
    if (kind < 2)
      optimizer = std::make_unique<Sgd>(
          model, Sgd::Options{.learning_rate = kRate, .momentum = kind == 0 ? 0 : 0.9f});
    else
      optimizer = std::make_unique<Adam>(model);
    train(model, *optimizer, 4);
    expect_rounded(model);
    // In each of the two micro-batches the input, the output, and the output's gradient; no parameters.
    EXPECT_EQ(casts_in_a_step(model, *optimizer), 6) << optimizer->kind();
    // A step that is skipped.
    train(model, *optimizer, 1, INFINITY);
    EXPECT_NE(nonfinite_value(model), "");
    expect_rounded(model);
  }
}

// Every one of these changes, between recorded steps, must reach the products of the next step.
TEST_F(RoundedParameters, FollowOtherChanges) {
  test::TemporaryDirectory files;
  const auto trained = [&](auto make_optimizer) {
    DataParallel model(small_network(), test::kSmallInput, options());
    const auto optimizer = make_optimizer(model);
    std::vector<std::vector<float>> after;
    const auto check = [&] {
      train(model, *optimizer, 3);
      after.push_back(parameters_of(model));
      EXPECT_EQ(differing_values(model), 0);
    };
    check();
    const std::string path = files / (optimizer->rounds_parameters() ? "a" : "b");
    save_checkpoint(path, model, *optimizer, {.epoch = 1, .step = 3, .seed = 1, .batch = 12});
    for (Replica& replica : model.replicas()) {
      std::vector<float> values = ModelFixture::get(replica, replica.parameters());
      for (float& value : values) value *= 0.5f;
      ModelFixture::put(replica, replica.parameters().data, values);
    }
    check();
    load_checkpoint(path, model, *optimizer);
    check();
    load_parameters(path, model);
    check();
    for (Replica& replica : model.replicas()) replica.initialise(9);
    check();
    return after;
  };
  const auto with_copy = trained(
      [](DataParallel& model) { return std::make_unique<Sgd>(model, Sgd::Options{.learning_rate = kRate}); });
  const auto without = trained([](DataParallel& model) { return std::make_unique<OnlyParameters>(model); });
  ASSERT_EQ(with_copy.size(), without.size());
  for (size_t i = 0; i < without.size(); ++i)
    EXPECT_TRUE(all_equal_bits(with_copy[i], without[i])) << "after change " << i;
}

// For accesses of 16 bytes.
TEST_F(RoundedParameters, BeginAtMultiplesOf16Bytes) {
  for (const DType type : {DType::float32, DType::bfloat16}) {
    const Graph graph = make_graph(Sequential{Linear(3), Linear(1), Linear(4)}, {1, 1, 5}, Math::fp32, type);
    for (const Parameter& p : graph.parameters()) EXPECT_EQ(p.offset * size_of(type) % 16, 0) << p.name;
    EXPECT_EQ(graph.parameter_arena_size() * size_of(type) % 16, 0);
  }
}

TEST_F(RoundedParameters, DoNotExistInFloat32) {
  DataParallel model(small_network(), test::kSmallInput, options(DType::float32));
  Sgd sgd(model);
  train(model, sgd, 3);
  EXPECT_EQ(model.replicas()[0].rounded_parameters().size, 0);
  EXPECT_EQ(casts_in_a_step(model, sgd), 0);
}

}  // namespace
}  // namespace rondo::nn
