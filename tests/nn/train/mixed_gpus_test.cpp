// Replicas on GPUs of different types, in one process: even devices are an H100 and odd ones a T4. Kernels,
// tiles and workspaces differ; initial values and every step must not.
#include <gtest/gtest.h>

#include <rondo/nn/fit/fit.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/strategies/strategy.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/skip_without_devices.h>

#include <simt/settings.h>

#include <algorithm>

namespace rondo::nn {
namespace {

using test::all_equal_bits;

// Before the first CUDA call.
const cudaError_t kMixed = simt::set_gpu("h100,t4");

std::vector<float> values_of(Replica& replica, VectorView<float> from) {
  const DeviceScope scope(replica.device());
  std::vector<float> values(static_cast<size_t>(from.size));
  RONDO_CUDA_THROW(
      cudaMemcpy(values.data(), from.data, values.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return values;
}

bool has_random_kernel(int device) {
  return std::ranges::any_of(simt::loaded_kernels(device),
                             [](const std::string& name) { return name.find("fill_kernel") != name.npos; });
}

TEST(MixedGpus, AreThere) {
  SKIP_WITHOUT_DEVICES(2);
  ASSERT_EQ(kMixed, cudaSuccess);
  int major[2];
  for (const int device : {0, 1})
    ASSERT_EQ(cudaDeviceGetAttribute(&major[device], cudaDevAttrComputeCapabilityMajor, device), cudaSuccess);
  EXPECT_EQ(major[0], 9);
  EXPECT_EQ(major[1], 7);
}

// One compiler's code makes them, and the others get copies. GPUs of one type make their own.
TEST(MixedGpus, InitialValuesAreThoseOfTheFirst) {
  SKIP_WITHOUT_DEVICES(5);
  DataParallel alike(test::small_network(), test::kSmallInput, {.devices = {2, 4}, .batch = 12, .seed = 5});
  EXPECT_TRUE(has_random_kernel(4));
  DataParallel model(test::small_network(), test::kSmallInput, {.devices = {0, 1}, .batch = 12, .seed = 5});
  EXPECT_TRUE(has_random_kernel(0));
  EXPECT_FALSE(has_random_kernel(1));
  model.streams().synchronize();
  alike.streams().synchronize();
  for (const auto of : {&Replica::parameters, &Replica::states}) {
    Replica& first = alike.replicas()[0];
    const std::vector<float> want = values_of(first, (first.*of)());
    ASSERT_FALSE(want.empty());
    for (Replica& replica : model.replicas())
      EXPECT_TRUE(all_equal_bits(values_of(replica, (replica.*of)()), want)) << replica.device();
  }
}

// LeNet has workspaces, and its batches have sizes that the two devices compute with different tiles.
TEST(MixedGpus, TrainTogether) {
  SKIP_WITHOUT_DEVICES(5);
  const FashionMnist data = test::small_data(70, 20);
  const auto trained = [&](std::vector<int> devices) {
    DataParallel model(lenet(), {28, 28, 1}, {.devices = std::move(devices), .batch = 32, .seed = 5});
    Sgd sgd(model, {.learning_rate = 0.1f});
    const FitResult result = fit(model, sgd, data, {.epochs = 2, .verify = true});
    EXPECT_EQ(result.differing_values, 0);
    EXPECT_TRUE(model.graph_refusal().ok()) << model.graph_refusal().message();
    return test::parameters_of(model);
  };
  EXPECT_LE(test::distance(trained({0, 1, 1}), trained({0, 2, 4})), 1e-4);
}

TEST(MixedGpus, TakeTheLessonsSteps) {
  SKIP_WITHOUT_DEVICES(3);
  const FashionMnist data = test::small_data(20, 6);
  lenet::Observer no_observer;
  const auto trained = [&](std::vector<int> devices) {
    return lenet::train(data, {.devices = std::move(devices), .batch_size = 10, .epochs = 2}, no_observer)
        .parameters;
  };
  EXPECT_LE(test::distance(trained({0, 1}), trained({0, 2})), 1e-4);
}

TEST(MixedGpus, RunEveryStrategy) {
  SKIP_WITHOUT_DEVICES(3);
  const std::vector<float> x = test::normal_values(6 * 784, 1);
  const std::vector<int32_t> labels = test::some_labels(6, 10);
  for (const StrategyKind kind : kStrategies) {
    SCOPED_TRACE(name_of(kind));
    const auto trained = [&](std::vector<int> devices) {
      if (kind == StrategyKind::single) devices = {devices[1]};
      const auto strategy = make_strategy(kind, lenet(), {28, 28, 1}, {.devices = devices, .batch = 6});
      strategy->train_step({x, labels, {}});
      return strategy->parameters();
    };
    EXPECT_LE(test::distance(trained({0, 1}), trained({0, 2})), 1e-4);
  }
}

}  // namespace
}  // namespace rondo::nn
