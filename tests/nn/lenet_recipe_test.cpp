// The textbook's recipe on the real data. The recipe sits on a plateau for its first epoch and then amplifies
// every rounding, so that accuracy is judged as a band over seeds and never as one number.

#include <gtest/gtest.h>

#include <rondo/kernels/core/platform.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/real_images.h>

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

struct Recorder : Observer {
  std::vector<StepReport> steps;
  void on_step(const StepReport& step) override { steps.push_back(step); }
};

TEST_F(Recipe, FirstTwoHundredLossesDoNotDependOnTheNumberOfDevices) {
  FashionMnist first_steps = data();
  keep_first(first_steps, 200 * 256 + 96);  // 200 whole steps and a ragged one
  Options options;
  options.epochs = 1;
  options.inspect_steps = 201;
  std::vector<Recorder> recorders(5);
  for (int count = 1; count <= 5; ++count) {
    options.devices = ranks(count);
    options.verify = true;
    const Result result = train(first_steps, options, recorders[static_cast<size_t>(count - 1)]);
    EXPECT_EQ(result.differing_values, 0) << count << " ranks";
    EXPECT_EQ(result.verified_steps, 201);
  }
  const std::vector<StepReport>& one = recorders[0].steps;
  for (size_t count = 2; count <= 5; ++count) {
    const std::vector<StepReport>& many = recorders[count - 1].steps;
    double error = 0, size = 0;
    for (size_t i = 0; i < one[0].gradients.size(); ++i) {
      error += std::pow(double(many[0].gradients[i]) - one[0].gradients[i], 2);
      size += std::pow(double(one[0].gradients[i]), 2);
    }
    EXPECT_LE(std::sqrt(error / size), 1e-6) << count << " ranks";
    double worst = 0;
    for (size_t step = 0; step < 200; ++step)
      worst = std::max(worst, std::abs(many[step].loss - one[step].loss) / one[step].loss);
    EXPECT_LE(worst, 1e-5) << count << " ranks";
    RecordProperty("gradient_error_" + std::to_string(count), concat(std::sqrt(error / size)));
    RecordProperty("loss_error_" + std::to_string(count), concat(worst));
  }
}

TEST_F(Recipe, InFixedOrderTwoHundredStepsGiveTheSameBitsOnAnyNumberOfDevices) {
  FashionMnist first_steps = data();
  keep_first(first_steps, 200 * 256);
  std::vector<float> of_one;
  for (int count : {1, 2, 4, 8}) {
    Options options;
    options.epochs = 1;
    options.devices = ranks(count);
    options.verify = true;
    Observer silent;
    const Result result = train(first_steps, in_fixed_order(options), silent);
    EXPECT_EQ(result.verified_steps, 200);
    EXPECT_EQ(result.differing_values, 0) << count << " devices";
    if (count == 1) of_one = result.parameters;
    EXPECT_TRUE(test::all_equal_bits(result.parameters, of_one)) << count << " devices";
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

}  // namespace
}  // namespace rondo::lenet
