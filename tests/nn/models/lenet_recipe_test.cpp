// The textbook's training recipe on the real data. Its loss stays on a plateau during the first epoch and
// then amplifies every rounding error, so the accuracy is checked as a range over seeds, not as one number.

#include <gtest/gtest.h>

#include <rondo/kernels/core/math_mode.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/models/models.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/real_images.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>

namespace rondo::lenet {
namespace {

std::vector<int> ranks(int count) {
  std::vector<int> devices;
  for (int rank = 0; rank < count; ++rank) devices.push_back(rank % device_count());
  return devices;
}

class Recipe : public testing::Test {
 protected:
  void SetUp() override {
    if (!loaded()) GTEST_SKIP() << test::kNoRealImages;
  }
  static const FashionMnist& data() { return *loaded(); }

 private:
  static const std::optional<FashionMnist>& loaded() {
    static const std::optional<FashionMnist> images = test::real_images();
    return images;
  }
};

// The loss after each step, and the gradients of the first step.
struct Recorder : Observer {
  std::vector<double> losses;  // summed since the beginning of the epoch
  std::vector<float> first_gradients;
  void after_step(int64_t, int64_t, std::span<const Replica> replicas) override {
    RONDO_CUDA_THROW(cudaStreamSynchronize(replicas[0].stream));
    double loss = 0;
    for (const Replica& replica : replicas) loss += replica.loss_stats.download()[0].loss;
    losses.push_back(loss);
    if (losses.size() == 1) first_gradients = replicas[0].gradient_arena.download();
  }
};

TEST_F(Recipe, FirstTwoHundredLossesDoNotDependOnTheNumberOfDevices) {
  FashionMnist first_steps = data();
  keep_first(first_steps, 200 * 256 + 96);  // 200 full steps and an uneven one
  Options options;
  options.epochs = 1;
  std::vector<Recorder> recorders(5);
  for (int count = 1; count <= 5; ++count) {
    options.devices = ranks(count);
    train(first_steps, options, recorders[static_cast<size_t>(count - 1)]);
  }
  const Recorder& one = recorders[0];
  ASSERT_EQ(one.losses.size(), 201u);
  for (size_t count = 2; count <= 5; ++count) {
    const Recorder& many = recorders[count - 1];
    double error = 0, size = 0;
    for (size_t i = 0; i < one.first_gradients.size(); ++i) {
      error += std::pow(double(many.first_gradients[i]) - one.first_gradients[i], 2);
      size += std::pow(double(one.first_gradients[i]), 2);
    }
    EXPECT_LE(std::sqrt(error / size), 1e-6) << count << " ranks";
    double worst = 0;
    for (size_t step = 0; step < 200; ++step) {
      const auto loss_of = [&](const Recorder& r) {
        return r.losses[step] - (step > 0 ? r.losses[step - 1] : 0);
      };
      worst = std::max(worst, std::abs(loss_of(many) - loss_of(one)) / loss_of(one));
    }
    EXPECT_LE(worst, 1e-5) << count << " ranks";
    RecordProperty("gradient_error_" + std::to_string(count), concat(std::sqrt(error / size)));
    RecordProperty("loss_error_" + std::to_string(count), concat(worst));
  }
}

TEST_F(Recipe, TwoHundredDeviceCountInvariantStepsGiveTheSameBitsOnAnyNumberOfDevices) {
  FashionMnist first_steps = data();
  keep_first(first_steps, 200 * 256);
  std::vector<float> of_one;
  for (int count : {1, 2, 4, 8}) {
    nn::DataParallel model(nn::lenet(10, nn::weight_init("normal")), {28, 28, 1},
                           nn::with_device_count_invariance({.devices = ranks(count), .batch = 256}));
    nn::Sgd sgd(model);
    const nn::FitResult result =
        nn::fit(model, sgd, first_steps,
                {.epochs = 1, .learning_rate = nn::LearningRate::constant(0.2), .verify = true});
    EXPECT_EQ(result.verified_steps, 200);
    EXPECT_EQ(result.differing_values, 0) << count << " devices";
    if (count == 1) of_one = test::parameters_of(model);
    EXPECT_TRUE(test::all_equal_bits(test::parameters_of(model), of_one)) << count << " devices";
  }
}

class Seeds : public Recipe, public testing::WithParamInterface<std::tuple<int, int>> {};

TEST_P(Seeds, TenEpochsReachTheBand) {
  const auto [seed, count] = GetParam();
  Options options;
  options.seed = static_cast<uint64_t>(seed);
  options.devices = ranks(count);
  Observer silent;
  const Result result = train(data(), options, silent);
  ASSERT_EQ(result.epochs.size(), 10u);
  EXPECT_GE(result.epochs[2].test_accuracy, 0.65);
  EXPECT_GE(std::max({result.epochs[7].test_accuracy, result.epochs[8].test_accuracy,
                      result.epochs[9].test_accuracy}),
            0.76);
}

INSTANTIATE_TEST_SUITE_P(Recipe, Seeds, testing::Combine(testing::Range(0, 5), testing::Values(1, 2)),
                         [](const auto& info) {
                           return concat("seed", std::get<0>(info.param), "_ranks", std::get<1>(info.param));
                         });

// Tensor cores and activations of bfloat16 reach the band of the third epoch, too.
struct Arithmetic {
  const char* name;
  Math math;
  DType activations;
};
class Precision : public Recipe, public testing::WithParamInterface<std::tuple<int, Arithmetic>> {};

TEST_P(Precision, ThreeEpochsReachTheBand) {
  const auto& [seed, arithmetic] = GetParam();
  SKIP_IF_REFUSED(check_math("math", arithmetic.math));
  SKIP_IF_REFUSED(check_factor_type("activations", arithmetic.activations));
  nn::DataParallel model(nn::lenet(10, nn::weight_init("normal")), {28, 28, 1},
                         {.batch = 256,
                          .seed = static_cast<uint64_t>(seed),
                          .math = arithmetic.math,
                          .activations = arithmetic.activations});
  nn::Sgd sgd(model);
  const nn::FitResult result = nn::fit(
      model, sgd, data(),
      {.epochs = 3, .seed = static_cast<uint64_t>(seed), .learning_rate = nn::LearningRate::constant(0.2)});
  ASSERT_EQ(result.epochs.size(), 3u);
  EXPECT_GE(result.epochs[2].test_accuracy, 0.65);
}

INSTANTIATE_TEST_SUITE_P(Recipe, Precision,
                         testing::Combine(testing::Range(0, 3),
                                          testing::Values(Arithmetic{"tf32", Math::tf32, DType::float32},
                                                          Arithmetic{"bf16", Math::fp32, DType::bfloat16})),
                         [](const auto& info) {
                           return concat("seed", std::get<0>(info.param), "_", std::get<1>(info.param).name);
                         });

}  // namespace
}  // namespace rondo::lenet
