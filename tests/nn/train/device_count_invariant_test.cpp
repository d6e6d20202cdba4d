// Training with every all-reduce algorithm, and device-count-invariant training on any number of devices.
#include <gtest/gtest.h>

#include <rondo/nn/fit/fit.h>
#include <rondo/nn/layers/softmax.h>
#include <rondo/nn/models/models.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/status_checks.h>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::spread;

// Has layers with synchronised batch normalisation and random numbers.
AnyModule norm_and_dropout() {
  return Sequential{
      Conv2d(4, 3, {.stride = 2}), BatchNorm2d(), ReLU(), MaxPool2d(2), Dropout(0.2f), Linear(10)};
}

// Has statistics that are plain averages, and their number.
AnyModule softmaxes_and_averages() {
  return Sequential{Conv2d(4, 3, {.stride = 2}),
                    BatchNorm2d({.momentum = std::nullopt}),
                    ReLU(),
                    MaxPool2d(2),
                    Softmax(),
                    Flatten(),
                    Linear(10),
                    LogSoftmax()};
}

struct Outcome {
  std::vector<float> parameters, states;
  FitResult result;
};

Outcome outcome_of(const AnyModule& network, const DataParallelOptions& options) {
  DataParallel model(network, {28, 28, 1}, options);
  Sgd sgd(model, {.momentum = 0.9f});
  const FitOptions fit_options = {.epochs = 3, .learning_rate = LearningRate::constant(0.2), .verify = true};
  FitResult result = fit(model, sgd, test::small_data(123, 20), fit_options);
  return {test::parameters_of(model), test::values_of(model, model.replicas().back().states()),
          std::move(result)};
}

class Algorithms : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, Algorithms,
                         testing::Values(Algorithm::automatic, Algorithm::ring, Algorithm::direct,
                                         Algorithm::root, Algorithm::hierarchical),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(Algorithms, ReplicasStayEqual) {
  for (int count : {2, 4, 8}) {
    const Outcome trained =
        outcome_of(lenet(), {.devices = spread(count), .batch = 50, .algorithm = GetParam()});
    EXPECT_EQ(trained.result.verified_steps, 9);
    EXPECT_EQ(trained.result.differing_values, 0) << count << " devices";
  }
}

TEST(Groups, TrainAsTheyAreAdded) {
  const Outcome trained =
      outcome_of(norm_and_dropout(), {.devices = spread(4), .batch = 50, .group_size = 2});
  EXPECT_EQ(trained.result.differing_values, 0);
  EXPECT_THROW(outcome_of(norm_and_dropout(), {.devices = spread(4), .batch = 50, .group_size = 3}), Error);
  EXPECT_THROW(DataParallel(norm_and_dropout(), {28, 28, 1},
                            {.devices = spread(4), .order = SumOrder::balanced_tree, .group_size = 2}),
               Error);
  EXPECT_THROW(DataParallel(norm_and_dropout(), {28, 28, 1},
                            {.devices = std::vector<int>(65, 0), .placement = BatchPlacement::replicated}),
               Error);
}

// Includes uneven batches: blocks of different sizes, some of them empty.
TEST(DeviceCountInvariance, ParametersDoNotDependOnTheNumberOfDevices) {
  for (const AnyModule& net : {lenet(), norm_and_dropout(), softmaxes_and_averages()}) {
    std::vector<float> of_one, states_of_one;
    for (int count : {1, 2, 3, 4, 8}) {
      const DataParallelOptions options =
          with_device_count_invariance({.devices = spread(count), .batch = 50});
      EXPECT_EQ(options.devices.size(), static_cast<size_t>(kSampleBlocks));
      const Outcome trained = outcome_of(net, options);
      EXPECT_EQ(trained.result.differing_values, 0);
      if (count == 1) of_one = trained.parameters, states_of_one = trained.states;
      EXPECT_TRUE(all_equal_bits(trained.parameters, of_one)) << count << " devices";
      EXPECT_TRUE(all_equal_bits(trained.states, states_of_one)) << count << " devices";
    }
  }
}

// A control: shows that the test above can fail.
TEST(DeviceCountInvariance, WithoutItTheNumberOfDevicesShows) {
  const auto parameters = [](int count) {
    return outcome_of(lenet(), {.devices = spread(count), .batch = 50, .algorithm = Algorithm::direct})
        .parameters;
  };
  EXPECT_FALSE(all_equal_bits(parameters(8), parameters(1)));
}

TEST(DeviceCountInvariance, RefusesWhatHasNone) {
  const auto expect_refused = [](const DataParallelOptions& options, const std::string& words) {
    try {
      static_cast<void>(with_device_count_invariance(options));
      ADD_FAILURE() << "nothing was refused";
    } catch (const Error& error) {
      EXPECT_TRUE(test::refused(error.status(), words));
    }
  };
  expect_refused({.devices = std::vector<int>(9, 0)}, "there are 9 devices, must be 1 to 8");
  expect_refused({.devices = {}}, "there are 0 devices, must be 1 to 8");
  expect_refused({.batch = 7}, "the batch has 7 samples, must have at least 8, one for each sample block");
  for (const Algorithm other : {Algorithm::ring, Algorithm::root, Algorithm::hierarchical})
    expect_refused({.algorithm = other},
                   concat("the algorithm is ", name_of(other), ", must be automatic or direct"));
  expect_refused({.group_size = 2}, "group_size is 2, must be 0");
}

TEST(DeviceCountInvariance, TakesExactlyTheLimits) {
  for (const Algorithm algorithm : {Algorithm::automatic, Algorithm::direct}) {
    const DataParallelOptions taken = with_device_count_invariance({.batch = 8, .algorithm = algorithm});
    EXPECT_EQ(taken.devices.size(), 8u);
    EXPECT_EQ(taken.algorithm, Algorithm::direct);
    EXPECT_EQ(taken.order, SumOrder::balanced_tree);
  }
  const std::vector<int> eight(8, 0);
  EXPECT_EQ(with_device_count_invariance({.devices = eight, .batch = 8}).devices, eight);
}

}  // namespace
}  // namespace rondo::nn
