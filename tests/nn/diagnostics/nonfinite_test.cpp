// The search for the first NaN finds planted values at their positions.
#include <gtest/gtest.h>

#include <rondo/kernels/random/dropout.h>
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/diagnostics/nonfinite.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/tests/nn/models/small_networks.h>
#include <rondo/tests/nn/train/fixed_batch.h>
#include <rondo/tests/nn/train/model_fixture.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace rondo::nn {
namespace {

using test::normal_values;

constexpr int64_t kBatch = 7;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What to write where: element `index` of sample `sample` in the whole batch.
struct Planted {
  bool backward = false;
  int64_t sample = 0, index = 0;
  float value = 0;
};

// Passes its input on, except for the planted value. Backward reads the input, so the input is recomputed
// like that of other layers.
class Planter : public Module {
 public:
  explicit Planter(Planted planted) : planted_(planted) {}
  Value build(Graph& graph, Value x) const override {
    return graph.add(std::make_unique<PlanterOp>(planted_), {x}, x.shape);
  }

 private:
  class PlanterOp : public Op {
   public:
    explicit PlanterOp(Planted planted) : planted_(planted) {}
    std::string description() const override { return "planter"; }
    Saves saves() const override { return {.inputs = true}; }
    Status forward(const OpContext& context) const override {
      return pass_on(context, context.output, context.inputs[0], !planted_.backward);
    }
    Status backward(const OpContext& context) const override {
      return pass_on(context, context.input_gradients[0], context.output_gradient, planted_.backward);
    }

   private:
    Status pass_on(const OpContext& context, Tensor to, ConstTensor from, bool here) const {
      RONDO_CUDA(cudaMemcpyAsync(to.data, from.data, static_cast<size_t>(to.size()) * sizeof(float),
                                 cudaMemcpyDeviceToDevice, context.stream));
      const int64_t sample = planted_.sample - context.first;
      if (!here || sample < 0 || sample >= context.batch) return {};
      RONDO_CUDA(cudaMemcpyAsync(to.as() + sample * to.shape.size() + planted_.index, &planted_.value,
                                 sizeof(float), cudaMemcpyHostToDevice, context.stream));
      return {};
    }
    Planted planted_;
  };
  Planted planted_;
};

AnyModule with_planted(Planted planted) {
  return Sequential{
      Conv2d(4, 3),
      BatchNorm2d(),
      Residual(Sequential{Conv2d(4, 3, {.padding = 1}), Planter(planted), BatchNorm2d()}),
      AvgPool2d(2),
      Linear(5),
      ReLU(),
      Linear(3),
  };
}

ModelFixture fixture_of(const AnyModule& network, int ranks, int64_t checkpoint_layers = 0) {
  return ModelFixture(network, kNetworkInput, spread(ranks), kBatch, [&](const Graph& graph, int64_t batch) {
    return plan_training(graph, batch, {.checkpoint_layers = checkpoint_layers});
  });
}

std::optional<NonfiniteTensor> search_forward(ModelFixture& fixture) {
  fixture.upload(normal_values(kBatch * kNetworkInput.size(), 1));
  return first_nonfinite_in_forward(fixture.replicas, kTraining);
}

std::optional<NonfiniteTensor> search_backward(ModelFixture& fixture, float gradient = 1) {
  fixture.upload(normal_values(kBatch * kNetworkInput.size(), 1));
  forward(fixture.replicas, kTraining);
  for (Replica& replica : fixture.replicas)
    ModelFixture::put(replica, replica.output_gradient().as(),
                      std::vector<float>(static_cast<size_t>(replica.output_gradient().size()), gradient));
  return first_nonfinite_in_backward(fixture.replicas, kTraining);
}

TEST(FirstNonfinite, WhereAllIsFiniteThereIsNone) {
  for (const auto& [name, network] : small_networks())
    for (int ranks : {1, 3}) {
      SCOPED_TRACE(name);
      ModelFixture fixture = fixture_of(network, ranks, ranks);
      EXPECT_FALSE(search_forward(fixture).has_value());
      EXPECT_FALSE(search_backward(fixture).has_value());
    }
}

TEST(FirstNonfinite, FindsWhatForwardMakes) {
  for (int ranks : {1, 3})
    for (float value : {NAN, kInfinity, -kInfinity})
      for (int64_t sample : {0, 3, 6}) {
        SCOPED_TRACE(concat(ranks, " replicas, ", value, " in sample ", sample));
        // 7 x 7 x 4: row 2, column 5, channel 1
        ModelFixture fixture =
            fixture_of(with_planted({.sample = sample, .index = (2 * 7 + 5) * 4 + 1, .value = value}), ranks);
        const std::optional<NonfiniteTensor> bad = search_forward(fixture);
        ASSERT_TRUE(bad.has_value());
        EXPECT_EQ(bad->tensor, "2.body.1 (planter): output");
        EXPECT_EQ(bad->position, concat("[image ", sample, ", row 2, column 5, channel 1]"));
        const int replica = ranks == 1 ? 0 : sample < 2 ? 0 : sample < 4 ? 1 : 2;  // shards of 2, 2, 3
        EXPECT_EQ(bad->replica, replica);
        EXPECT_EQ(bad->text(), concat(replica > 0 ? concat("replica ", replica, ": ") : "", bad->tensor, " ",
                                      bad->position, " is ", value));
        EXPECT_TRUE(std::isnan(value) ? std::isnan(bad->value) : bad->value == value);
      }
}

TEST(FirstNonfinite, FindsWhatBackwardMakes) {
  for (int ranks : {1, 3})
    for (int64_t checkpoint_layers : {0, 2, 3}) {
      SCOPED_TRACE(concat(ranks, " replicas, checkpoint_layers ", checkpoint_layers));
      ModelFixture fixture = fixture_of(
          with_planted({.backward = true, .sample = 4, .index = 9, .value = NAN}), ranks, checkpoint_layers);
      EXPECT_FALSE(search_forward(fixture).has_value());
      const std::optional<NonfiniteTensor> bad = search_backward(fixture);
      ASSERT_TRUE(bad.has_value());
      EXPECT_EQ(bad->text(),
                concat(ranks == 3 ? "replica 2: " : "",
                       "2.body.1 (planter): gradient of its input [image 4, row 0, column 2, channel "
                       "1] is nan"));
    }
}

TEST(FirstNonfinite, FindsParametersStatesAndInputs) {
  ModelFixture fixture = fixture_of(small_residual_network(), 3);
  const auto spoil = [&](Replica& replica, float* place) {
    ModelFixture::put(replica, place, std::vector<float>{kInfinity});
  };
  const auto reset = [&] {
    for (Replica& replica : fixture.replicas) replica.initialise(7);
  };
  const auto text = [&] { return search_forward(fixture).value_or(NonfiniteTensor{}).text(); };
  spoil(fixture.replicas[1],
        fixture.replicas[1].parameter(fixture.graph.parameters()[0]) + 17);  // [4, 3, 3, 2]
  EXPECT_EQ(text(), "replica 1: 0.weight [0, 2, 2, 1] is inf");
  reset();
  const Parameter& state = fixture.graph.states()[1];
  spoil(fixture.replicas[0], fixture.replicas[0].state(state) + 3);
  EXPECT_FALSE(search_forward(fixture).has_value()) << "training does not read it";
  fixture.upload(normal_values(kBatch * kNetworkInput.size(), 1));
  EXPECT_EQ(first_nonfinite_in_forward(fixture.replicas, Pass{}).value_or(NonfiniteTensor{}).text(),
            "1.running_var [3] is inf");
  reset();
  std::vector<float> x = normal_values(kBatch * kNetworkInput.size(), 1);
  x[static_cast<size_t>(5 * kNetworkInput.size() + 2 * 9 * 2 + 3)] = NAN;
  fixture.upload(x);
  EXPECT_EQ(first_nonfinite_in_forward(fixture.replicas, kTraining).value_or(NonfiniteTensor{}).text(),
            "replica 2: the network's input [image 5, row 2, column 1, channel 1] is nan");
  EXPECT_FALSE(search_forward(fixture).has_value());
}

TEST(FirstNonfinite, NamesRowAndColumnOfImagesThatAreNotSquare) {
  for (const Shape& input : {Shape{3, 8, 2}, Shape{8, 3, 2}}) {
    SCOPED_TRACE(concat(input.height, " x ", input.width));
    ModelFixture fixture(Sequential{Conv2d(4, 3), Linear(3)}, input, spread(2), kBatch,
                         [](const Graph& graph, int64_t batch) { return plan_training(graph, batch, {}); });
    std::vector<float> x = normal_values(kBatch * input.size(), 1);
    x[static_cast<size_t>(5 * input.size() + (2 * input.width + 1) * 2 + 1)] = NAN;
    fixture.upload(x);
    EXPECT_EQ(first_nonfinite_in_forward(fixture.replicas, kTraining).value_or(NonfiniteTensor{}).position,
              "[image 5, row 2, column 1, channel 1]");
  }
}

// Images of one row or one column are images. A vector has elements.
TEST(FirstNonfinite, NamesRowAndColumnOfImagesOfOneRowOrColumn) {
  const std::pair<Shape, std::string> cases[] = {{{1, 8, 2}, "[image 5, row 0, column 3, channel 1]"},
                                                 {{8, 1, 2}, "[image 5, row 3, column 0, channel 1]"},
                                                 {{1, 1, 16}, "[sample 5, element 7]"}};
  for (const auto& [input, position] : cases) {
    ModelFixture fixture(Sequential{Linear(3)}, input, spread(2), kBatch, trained);
    std::vector<float> x = normal_values(kBatch * input.size(), 1);
    x[static_cast<size_t>(5 * input.size() + 7)] = NAN;
    fixture.upload(x);
    EXPECT_EQ(first_nonfinite_in_forward(fixture.replicas, kTraining).value_or(NonfiniteTensor{}).position,
              position);
  }
}

// Overflow in products, in sums over a batch, and in the sum of two paths.
TEST(FirstNonfinite, FindsOverflow) {
  ModelFixture fixture = fixture_of(small_lenet(), 1);
  EXPECT_EQ(search_backward(fixture, kInfinity).value_or(NonfiniteTensor{}).text(),
            "the gradient of the network's output [sample 0, element 0] is inf");
  // The sum of 7 of them exceeds the largest float.
  const std::optional<NonfiniteTensor> sum = search_backward(fixture, 1e38f);
  ASSERT_TRUE(sum.has_value());
  EXPECT_EQ(sum->tensor.substr(0, 2), "9.");
  EXPECT_NE(sum->tensor.find(": gradient"), std::string::npos) << sum->text();

  // x + x: the gradient of each path is finite, but their sum is not.
  ModelFixture twice(Sequential{Dropout(0), Residual(Sequential{Dropout(0)})}, {1, 1, 2}, {0}, 1,
                     [](const Graph& graph, int64_t batch) { return plan_training(graph, batch); });
  twice.upload({1, 1});
  forward(twice.replicas, kTraining);
  ModelFixture::put(twice.replicas[0], twice.replicas[0].output_gradient().as(),
                    std::vector<float>{1, 3e38f});
  EXPECT_EQ(
      first_nonfinite_in_backward(twice.replicas, kTraining).value_or(NonfiniteTensor{}).text(),
      "1.body.0 (dropout 0): gradient of its input, added to that of others [sample 0, element 1] is inf");
}

// Inputs that overflow unless dropout sets them to 0. The search must report the first that dropout keeps, so
// it must repeat the step with the original step number.
TEST(FirstNonfinite, DropsWhatTheStepDropped) {
  constexpr int64_t kSteps = 6, kWidth = 64;
  for (const int ranks : {1, 3})
    for (const int64_t micro_batches : {1, 2}) {
      SCOPED_TRACE(concat(ranks, " ranks, ", micro_batches, " micro-batches"));
      DataParallel model(Sequential{Dropout(0.5f), Linear(3)}, {1, 1, kWidth},
                         {.devices = spread(ranks),
                          .batch = 6,
                          .seed = 5,
                          .micro_batches = micro_batches,
                          .keep_finite = true});
      Sgd sgd(model);
      test::FixedBatch source(model, std::vector<float>(6 * kWidth, 3e38f), std::vector<int32_t>(6, 0));
      for (int64_t step = 0; step < kSteps; ++step) model.train_step(source, sgd);
      const auto first_kept = [](int64_t step) {
        const Buffer<int64_t> number(std::vector<int64_t>{step});
        const Buffer<float> ones(std::vector<float>(kWidth, 1));
        Buffer<float> kept(kWidth);
        const Stream stream;
        throw_if_error(
            dropout({kept.data(), kWidth}, {ones.data(), kWidth}, 0.5f, {5, 0, number.data(), 0}, stream));
        stream.synchronize();
        const std::vector<float> values = kept.download();
        return std::find(values.begin(), values.end(), 2.0f) - values.begin();
      };
      std::set<int64_t> places;
      for (const int64_t steps_ago : {0, 1, 6, 3, 4, 2, 5}) {
        SCOPED_TRACE(concat(steps_ago, " steps ago"));
        source.fails = true;  // the step number must be restored after a failure, too
        EXPECT_THROW(find_nonfinite_tensor(model, source, steps_ago), Error);
        source.fails = false;
        const std::optional<NonfiniteTensor> bad = find_nonfinite_tensor(model, source, steps_ago);
        ASSERT_TRUE(bad.has_value());
        places.insert(first_kept(kSteps - steps_ago));
        EXPECT_EQ(bad->text(), concat("0 (dropout 0.5): output [sample 0, element ",
                                      first_kept(kSteps - steps_ago), "] is inf"));
      }
      EXPECT_GT(places.size(), 2u) << "the steps drop the same";
      for (Replica& replica : model.replicas()) {
        const DeviceScope scope(replica.device());
        int64_t step = 0;
        RONDO_CUDA_THROW(cudaMemcpy(&step, replica.step(), sizeof step, cudaMemcpyDeviceToHost));
        EXPECT_EQ(step, kSteps);
      }
    }
}

// The search among the losses names the sample and the reason. Each replica has one bad label or none.
TEST(FirstNonfinite, FindsALoss) {
  for (const int64_t micro_batches : {1, 2})
    for (const int bad : {-1, 0, 4, 8}) {
      SCOPED_TRACE(concat(micro_batches, " micro-batches, sample ", bad));
      DataParallel model(
          Linear(3), {1, 1, 2},
          {.devices = spread(2), .batch = 9, .micro_batches = micro_batches, .keep_finite = true});
      Sgd sgd(model);
      std::vector<int32_t> labels(9, 1);
      if (bad >= 0) labels[static_cast<size_t>(bad)] = 3;
      test::FixedBatch source(model, normal_values(9 * 2, 1), labels);
      for (int step = 0; step < 3; ++step) model.train_step(source, sgd);
      const std::optional<NonfiniteTensor> found = find_nonfinite_tensor(model, source, 0);
      EXPECT_EQ(nonfinite_value(model), bad < 0 ? "" : "the loss");
      EXPECT_EQ(found ? found->text() : "",
                bad < 0
                    ? ""
                    : concat(bad < 4 ? "" : "replica 1: ", "the loss [sample ", bad,
                             ", whose label is out of range] is ", std::numeric_limits<float>::quiet_NaN()));
      EXPECT_EQ(model.take_loss_stats().bad_labels, bad < 0 ? 0 : 3) << "the search changes no statistics";
      model.train_step(source, sgd);
      clear_nonfinite_value(model);
      test::FixedBatch good(model, normal_values(9 * 2, 1), std::vector<int32_t>(9, 1));
      model.train_step(good, sgd);
      EXPECT_EQ(nonfinite_value(model), "") << "the statistics of an earlier step stop this one";
    }
}

// The search does not train: running statistics are restored, which may differ between replicas.
TEST(FirstNonfinite, PutsStatesBack) {
  ModelFixture fixture = fixture_of(small_residual_network(), 2);
  std::vector<std::vector<float>> before, after;
  for (size_t r = 0; r < fixture.replicas.size(); ++r) {
    Replica& replica = fixture.replicas[r];
    const VectorView<float> states = replica.states();
    ModelFixture::put(replica, states.data,
                      std::vector<float>(static_cast<size_t>(states.size), static_cast<float>(r + 1)));
  }
  for (Replica& replica : fixture.replicas) before.push_back(ModelFixture::get(replica, replica.states()));
  EXPECT_FALSE(search_forward(fixture).has_value());
  for (Replica& replica : fixture.replicas) after.push_back(ModelFixture::get(replica, replica.states()));
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace rondo::nn
