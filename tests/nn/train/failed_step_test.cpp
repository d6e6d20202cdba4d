// A step whose enqueuing fails halfway, and a model that goes while its last step runs: no memory is freed
// before the work that uses it has run, although cudaFree() does not wait here.
#include <gtest/gtest.h>

#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/strategies/strategy.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/support/random_order.h>

#include <simt/faults.h>

#include <algorithm>
#include <functional>

namespace rondo::nn {
namespace {

constexpr int kRanks = 3;
constexpr uint64_t kSeeds = 2;

// Runs work(), in which memory is freed, while nothing runs before the host waits for it. Returns whether it
// threw. Afterwards all devices have done their work without a fault.
bool throws(uint64_t seed, const std::function<void()>& work) {
  bool thrown = false;
  simt::set_free_waits(false);
  {
    const test::RandomOrder order(seed);
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.status().code(), StatusCode::out_of_resources) << error.what();
      thrown = true;
    }
    simt::refuse_copy(0);
  }
  simt::set_free_waits(true);
  for (int device = 0; device < std::min(kRanks, device_count()); ++device) {
    const DeviceScope scope(device);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << simt::last_fault().message;
  }
  return thrown;
}

// Refuses copies of work(), from the first to the last, with strides that grow. `copies`: whether there are
// any.
void expect_no_fault(const std::function<void()>& work, bool copies = true) {
  uint64_t copy = 1, failed = 0;
  for (bool thrown = true; thrown; copy += 1 + copy / 2)
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      simt::refuse_copy(copy);
      thrown = throws(seed, work);
      failed += thrown;
      if (testing::Test::HasFailure()) FAIL() << "copy " << copy << ", seed " << seed;
    }
  EXPECT_TRUE(!copies || failed > 2 * kSeeds) << "hardly any copies were made";
}

TEST(FailedStep, OfATrainingIsWaitedFor) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::direct}) {
    DataParallelOptions options = test::small_options(kRanks);
    options.algorithm = algorithm;
    const std::vector<float> x = test::normal_values(12 * test::kSmallInput.size(), 1);
    const std::vector<int32_t> labels = test::some_labels(12, 4);
    expect_no_fault([&] {
      DataParallel model(test::small_network(), test::kSmallInput, options);
      Sgd sgd(model);
      model.train_step(x, labels, sgd);
    });
  }
}

TEST(FailedStep, OfTheLessonIsWaitedFor) {
  const FashionMnist data = test::small_data(9, 3);
  expect_no_fault([&] {
    lenet::Observer no_observer;
    lenet::train(
        data, {.devices = test::spread(kRanks), .batch_size = 9, .epochs = 1, .algorithm = Algorithm::ring},
        no_observer);
  });
}

// Each strategy, with a step that fails and with one that does not.
TEST(FailedStep, OfAStrategyIsWaitedFor) {
  const std::vector<float> x = test::normal_values(6 * 784, 1);
  const std::vector<int32_t> labels = test::some_labels(6, 10);
  for (const StrategyKind kind : kStrategies) {
    SCOPED_TRACE(name_of(kind));
    const StrategyOptions options = {.devices = test::spread(kRanks), .batch = 6, .micro_batches = 2};
    expect_no_fault(
        [&] {
          const auto strategy = make_strategy(kind, lenet(), {28, 28, 1}, options);
          strategy->train_step({x, labels, {}});
        },
        kind != StrategyKind::single);
  }
}

}  // namespace
}  // namespace rondo::nn
