// Batch normalisation with other options than the default ones, in training and in evaluation.
#include <gtest/gtest.h>

#include <rondo/nn/layers/batch_norm.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/nn/reference/layers.h>
#include <rondo/tests/nn/train/model_fixture.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace rondo::nn {
namespace {

using test::all_near;
using test::normal_values;

constexpr Shape kNormImage = {3, 2, 5};
constexpr int64_t kNormSamples = 4, kNormRows = kNormSamples * kNormImage.height * kNormImage.width;

// (x - mean) / sqrt(variance + eps) in double precision, per channel. The initial weight is 1 and the bias 0.
std::vector<double> batch_normalised(const std::vector<float>& x, const std::vector<double>& mean,
                                     const std::vector<double>& variance, double eps) {
  std::vector<double> y;
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % kNormImage.channels;
    y.push_back((static_cast<double>(x[i]) - mean[c]) / std::sqrt(variance[c] + eps));
  }
  return y;
}

TEST(BatchNorm2d, UsesItsOptionsInTrainingAndInEvaluation) {
  for (const BatchNorm2d::Options options :
       {BatchNorm2d::Options{.eps = 0.1f, .momentum = 0.3f}, BatchNorm2d::Options{.eps = 0.5f, .momentum = 1},
        BatchNorm2d::Options{.eps = 1e-5f, .momentum = 0},
        BatchNorm2d::Options{.eps = 1e-5f, .affine = false}}) {
    ModelFixture fixture(BatchNorm2d(options), kNormImage, {0}, kNormSamples, trained);
    EXPECT_EQ(fixture.graph.parameters().size(), options.affine ? 2 : 0);
    std::vector<float> x = normal_values(kNormRows * kNormImage.channels, 1);
    for (float& value : x) value = 0.3f * value + 2;  // a variance that is not large beside eps
    std::vector<double> mean(kNormImage.channels), variance(kNormImage.channels),
        running_mean(kNormImage.channels), running_variance(kNormImage.channels);
    for (size_t i = 0; i < x.size(); ++i) mean[i % kNormImage.channels] += double{x[i]} / kNormRows;
    for (size_t i = 0; i < x.size(); ++i)
      variance[i % kNormImage.channels] +=
          std::pow(double{x[i]} - mean[i % kNormImage.channels], 2) / kNormRows;
    const double momentum = double{*options.momentum};
    for (size_t c = 0; c < kNormImage.channels; ++c) {
      running_mean[c] = momentum * mean[c];
      running_variance[c] = 1 - momentum + momentum * variance[c] * kNormRows / (kNormRows - 1);
    }
    fixture.upload(x);
    forward(fixture.replicas, kTraining);
    EXPECT_TRUE(all_near(fixture.outputs(), batch_normalised(x, mean, variance, options.eps), 1e-5, 1e-5));
    fixture.upload(x);
    forward(fixture.replicas, {});
    EXPECT_TRUE(all_near(fixture.outputs(), batch_normalised(x, running_mean, running_variance, options.eps),
                         1e-5, 1e-5))
        << options.eps << ", " << *options.momentum;
  }
}

constexpr BatchNorm2d::Options kCumulative = {.momentum = std::nullopt};

// One state of the only layer of a model, after all steps.
template <class T>
std::vector<T> state_of(DataParallel& model, const std::string& name, size_t rank = 0) {
  const auto& states = model.graph().states();
  const auto state = std::ranges::find(states, name, &Parameter::name);
  if (state == states.end()) throw Error(bad_argument("there is no state ", name));
  const std::vector<float> values =
      test::values_of(model, {model.replicas()[rank].state(*state), state->size});
  std::vector<T> typed(values.size() * sizeof(float) / sizeof(T));
  std::memcpy(typed.data(), values.data(), values.size() * sizeof(float));
  return typed;
}

// The second step on batches of one size is recorded, and later ones replay its graph (RecordedSteps), so the
// count must be in device memory. A new optimizer in each step makes every step one of its own kind, which is
// enqueued call by call.
TEST(BatchNorm2d, WithoutAMomentumStatisticsArePlainAveragesAlsoInRecordedSteps) {
  for (const int ranks : {1, 2, 3}) {
    std::vector<float> of_recorded;
    for (const bool recorded : {true, false}) {
      SCOPED_TRACE(concat(ranks, " devices", recorded ? ", recorded" : ""));
      DataParallel model(Sequential{BatchNorm2d(kCumulative), Flatten(), Linear(3)}, kNormImage,
                         {.devices = spread(ranks), .batch = 8});
      std::unique_ptr<Sgd> sgd;
      std::vector<double> mean(kNormImage.channels), variance(kNormImage.channels);
      for (int step = 1; step <= 7; ++step) {
        const int64_t samples = step % 3 == 0 ? 5 : 8, rows = samples * kNormImage.height * kNormImage.width;
        std::vector<float> x = normal_values(rows * kNormImage.channels, static_cast<uint64_t>(step));
        for (float& value : x) value = 0.3f * value + 0.2f * static_cast<float>(step);
        if (!sgd || !recorded) sgd = std::make_unique<Sgd>(model);
        model.train_step(x, test::some_labels(samples, 3), *sgd);
        const test::ReferenceStatistics batch =
            test::batch_statistics(test::to_double(x), kNormImage.channels);
        for (size_t c = 0; c < kNormImage.channels; ++c) {
          mean[c] += (batch.mean[c] - mean[c]) / step;
          variance[c] +=
              (batch.variance[c] * static_cast<double>(rows) / static_cast<double>(rows - 1) - variance[c]) /
              step;
        }
        for (size_t rank = 0; rank < static_cast<size_t>(ranks); ++rank) {
          EXPECT_EQ(state_of<int64_t>(model, "0.num_batches_tracked", rank), std::vector<int64_t>{step});
          EXPECT_TRUE(all_near(state_of<float>(model, "0.running_mean", rank), mean, 1e-6, 1e-6)) << step;
          EXPECT_TRUE(all_near(state_of<float>(model, "0.running_var", rank), variance, 0, 1e-6)) << step;
        }
      }
      static_cast<void>(model.predict(normal_values(4 * kNormImage.size(), 1)));
      EXPECT_EQ(state_of<int64_t>(model, "0.num_batches_tracked"), std::vector<int64_t>{7})
          << "an evaluation counts as a batch";
      const std::vector<float> states = test::values_of(model, model.replicas()[0].states());
      if (recorded) of_recorded = states;
      EXPECT_TRUE(test::all_equal_bits(states, of_recorded));
    }
  }
}

// With statistics of its own, a replica averages over the batches of which it had samples.
TEST(BatchNorm2d, AnEmptyShardIsNoBatch) {
  DataParallel model(Sequential{BatchNorm2d(kCumulative), Flatten(), Linear(3)}, kNormImage,
                     {.devices = spread(2), .batch = 4, .sync_batch_norm = false});
  Sgd sgd(model);
  for (const int64_t samples : {4, 1, 4})
    model.train_step(normal_values(samples * kNormImage.size(), 1), test::some_labels(samples, 3), sgd);
  const auto count = [&](size_t rank) { return state_of<int64_t>(model, "0.num_batches_tracked", rank)[0]; };
  EXPECT_EQ(std::max(count(0), count(1)), 3);
  EXPECT_EQ(std::min(count(0), count(1)), 2);
}

// A recomputation is not another batch.
TEST(BatchNorm2d, ARecomputationDoesNotCount) {
  DataParallel model(Sequential{Conv2d(4, 1), BatchNorm2d(kCumulative), ReLU(), Conv2d(3, 1), BatchNorm2d(),
                                GlobalAvgPool(), Flatten(), Linear(3)},
                     kNormImage, {.devices = {0}, .batch = 4, .checkpoint_layers = 1});
  Sgd sgd(model);
  for (int step = 0; step < 3; ++step)
    model.train_step(normal_values(4 * kNormImage.size(), 1), test::some_labels(4, 3), sgd);
  EXPECT_EQ(state_of<int64_t>(model, "1.num_batches_tracked"), std::vector<int64_t>{3});
}

}  // namespace
}  // namespace rondo::nn
