// The arithmetic of a training: which layers have it, and what it must not change.
#include <gtest/gtest.h>

#include <rondo/kernels/core/math_mode.h>
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/diagnostics/nonfinite.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/nn/models/small_networks.h>
#include <rondo/tests/nn/train/model_fixture.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

namespace rondo::nn {
namespace {

using test::normal_values;
using test::parameters_of;
using test::some_labels;

std::vector<std::string> descriptions(const Graph& graph) {
  std::vector<std::string> all;
  for (const Graph::Node& node : graph.nodes()) all.push_back(node.op->description());
  return all;
}

TEST(Precision, IsThatOfTheGraphUnlessALayerChoosesItsOwn) {
  const Sequential network = {Conv2d(4, 3), Conv2d(4, 3, {.math = Math::fp32}), Flatten(), Linear(5),
                              Linear(3, {.math = Math::tf32x3})};
  EXPECT_EQ(
      descriptions(make_graph(network, {8, 8, 4}, Math::tf32)),
      (std::vector<std::string>{"conv 4 @ 3x3, tf32", "conv 4 @ 3x3", "linear 5, tf32", "linear 3, tf32x3"}));
  EXPECT_EQ(descriptions(make_graph(network, {8, 8, 4})),
            (std::vector<std::string>{"conv 4 @ 3x3", "conv 4 @ 3x3", "linear 5", "linear 3, tf32x3"}));
}

AnyModule conv_and_linear() {
  return Sequential{Conv2d(16, 3), ReLU(), Flatten(), Linear(24), ReLU(), Linear(4)};
}
constexpr Shape kConvInput = {7, 7, 8};

std::vector<float> after_training(DataParallel& model) {
  Sgd sgd(model, {.learning_rate = 0.1f});
  for (const int64_t batch : {12, 12, 7, 2}) {
    const std::vector<float> x = normal_values(batch * kConvInput.size(), static_cast<uint64_t>(batch));
    model.train_step(x, some_labels(batch, 4), sgd);
  }
  return parameters_of(model);
}

TEST(Precision, AllReplicasTakeTheSameSteps) {
  SKIP_IF_REFUSED(check_math("tf32", Math::tf32));
  const auto trained = [](Math math, int devices) {
    DataParallelOptions options = test::small_options(devices);
    options.math = math;
    DataParallel model(conv_and_linear(), kConvInput, options);
    const std::vector<float> after = after_training(model);
    EXPECT_EQ(differing_values(model), 0) << name_of(math) << ", " << devices << " devices";
    return after;
  };
  const std::vector<float> fp32 = trained(Math::fp32, 1);
  for (const Math math : {Math::tf32, Math::tf32x3}) {
    const std::vector<float> one = trained(math, 1);
    const double bound = math == Math::tf32 ? 2e-3 : 2e-6;
    EXPECT_LE(test::distance(one, fp32), bound);
    if (math == Math::tf32) {
      EXPECT_GE(test::distance(one, fp32), 1e-6) << "the products are not those of tf32";
    }
    for (const int devices : {2, 3, 4}) EXPECT_LE(test::distance(trained(math, devices), one), bound);
  }
}

struct Arithmetic {
  const char* name;
  Math math;
  DType activations;
};
constexpr Arithmetic kTensorCores[] = {{"tf32", Math::tf32, DType::float32},
                                       {"bf16", Math::fp32, DType::bfloat16}};

// Some steps with whole and partial batches.
std::vector<float> after_training(DataParallel& model, Shape input, int64_t classes) {
  Sgd sgd(model, {.learning_rate = 0.02f, .momentum = 0.9f});
  for (const int64_t batch : {16, 16, 11, 2}) {
    const std::vector<float> x = normal_values(batch * input.size(), static_cast<uint64_t>(batch));
    model.train_step(x, some_labels(batch, classes), sgd);
  }
  EXPECT_EQ(differing_values(model), 0) << model.replicas().size() << " replicas";
  return parameters_of(model);
}

DataParallelOptions options_with(const Arithmetic& arithmetic, int devices) {
  DataParallelOptions options = test::small_options(devices);
  options.batch = 16;
  options.math = arithmetic.math;
  options.activations = arithmetic.activations;
  return options;
}

// With synchronised batch normalisation and dropout.
TEST(Precision, DeviceCountInvarianceHolds) {
  SKIP_IF_REFUSED(check_math("tf32", Math::tf32));
  for (const Arithmetic& arithmetic : kTensorCores) {
    const auto trained = [&](int devices) {
      DataParallel model(test::small_network(), test::kSmallInput,
                         with_device_count_invariance(options_with(arithmetic, devices)));
      return after_training(model, test::kSmallInput, 4);
    };
    const std::vector<float> one = trained(1);
    for (const int devices : {2, 3, 4, 8})
      EXPECT_TRUE(test::all_equal_bits(trained(devices), one)) << arithmetic.name << ", " << devices;
    DataParallel fp32(test::small_network(), test::kSmallInput,
                      with_device_count_invariance(options_with({"fp32", Math::fp32, DType::float32}, 1)));
    EXPECT_GT(test::distance(after_training(fp32, test::kSmallInput, 4), one), 1e-5) << arithmetic.name;
  }
}

TEST(Precision, ReplicasOfLeNetAndResNetStayEqual) {
  SKIP_IF_REFUSED(check_math("tf32", Math::tf32));
  for (const Arithmetic& arithmetic : kTensorCores)
    for (const AnyModule& net : {small_lenet(16), small_residual_network(64)}) {
      std::vector<float> one;
      for (const int devices : {1, 2, 3, 4}) {
        DataParallel model(net, kNetworkInput, options_with(arithmetic, devices));
        const std::vector<float> after = after_training(model, kNetworkInput, 3);
        if (devices == 1) one = after;
        EXPECT_LE(test::distance(after, one), arithmetic.math == Math::tf32 ? 2e-3 : 2e-2)
            << arithmetic.name << ", " << devices << " devices";
      }
    }
}

TEST(Precision, ReplicasOfWideConvolutionsStayEqual) {
  SKIP_IF_REFUSED(check_math("tf32", Math::tf32));
  for (const Arithmetic& arithmetic : kTensorCores) {
    std::vector<float> one;
    for (const int devices : {1, 2, 4}) {
      DataParallel model(wide_convolutions(), kWideInput, options_with(arithmetic, devices));
      Sgd sgd(model, {.learning_rate = 0.02f});
      model.train_step(normal_values(8 * kWideInput.size(), 1), some_labels(8, 3), sgd);
      EXPECT_EQ(differing_values(model), 0) << arithmetic.name << ", " << devices << " devices";
      if (devices == 1) one = parameters_of(model);
      EXPECT_LE(test::distance(parameters_of(model), one), 1e-4) << arithmetic.name << ", " << devices;
    }
  }
}

TEST(Precision, ActivationsHaveTheTypeOfTheGraph) {
  const Graph graph = make_graph(test::small_network(), test::kSmallInput, Math::fp32, DType::bfloat16);
  EXPECT_EQ(graph.nodes().front().op->description(), "cast to bfloat16");
  EXPECT_EQ(graph.nodes().back().op->description(), "cast to float32");
  EXPECT_EQ(graph.input().type, DType::float32);
  EXPECT_EQ(graph.output().type, DType::float32);
  for (size_t node = 0; node + 1 < graph.nodes().size(); ++node)
    EXPECT_EQ(graph.value(graph.nodes()[node].output).type, DType::bfloat16) << graph.nodes()[node].name;
}

// Half the memory for each tensor between the two ends.
TEST(Precision, ActivationsOfBfloat16TakeHalfTheMemory) {
  const Sequential wide = {Linear(4096), ReLU(), Linear(4096), ReLU(), Linear(8)};
  const auto arena = [&](DType activations) {
    return plan_training(make_graph(wide, {1, 1, 8}, Math::fp32, activations), 64).size;
  };
  const int64_t ends = 4 * 64 * 8;  // the input and the output, in both types
  EXPECT_LE(arena(DType::bfloat16), arena(DType::float32) / 2 + ends);
}

// All kinds of layers, with shared statistics, micro-batches and recomputed activations.
TEST(Precision, AllReplicasTakeTheSameStepsInBfloat16) {
  SKIP_IF_REFUSED(check_factor_type("bf16", DType::bfloat16));
  const auto trained = [](int devices, DType activations, int64_t checkpoint_layers) {
    DataParallelOptions options = test::small_options(devices);
    options.activations = activations;
    options.checkpoint_layers = checkpoint_layers;
    DataParallel model(test::small_network(), test::kSmallInput, options);
    Sgd sgd(model, {.learning_rate = 0.02f, .momentum = 0.9f});
    for (const int64_t batch : {12, 12, 7, 2}) {
      const std::vector<float> x =
          normal_values(batch * test::kSmallInput.size(), static_cast<uint64_t>(batch));
      model.train_step(x, some_labels(batch, 4), sgd);
    }
    EXPECT_EQ(differing_values(model), 0) << devices << " devices";
    return parameters_of(model);
  };
  const std::vector<float> one = trained(1, DType::bfloat16, 0);
  EXPECT_TRUE(test::all_equal_bits(trained(1, DType::bfloat16, 3), one)) << "recomputed";
  for (const int devices : {2, 3, 4})
    EXPECT_LE(test::distance(trained(devices, DType::bfloat16, 0), one), 2e-2) << devices << " devices";
}

// Without float32 weights, steps this small would be lost: 1e-4 of a weight is below half a unit of bfloat16.
TEST(Precision, SmallStepsAreKeptInBfloat16) {
  SKIP_IF_REFUSED(check_factor_type("bf16", DType::bfloat16));
  DataParallelOptions options = test::small_options(1);
  options.activations = DType::bfloat16;
  DataParallel model(conv_and_linear(), kConvInput, options);
  const std::vector<float> before = parameters_of(model);
  Sgd sgd(model, {.learning_rate = 1e-6f});
  const std::vector<float> x = normal_values(12 * kConvInput.size(), 1);
  model.train_step(x, some_labels(12, 4), sgd);
  const std::vector<float> after = parameters_of(model);
  EXPECT_GT(test::distance(after, before), 0);
  EXPECT_LT(test::distance(after, before), 1e-4);
}

TEST(Precision, LearnsInBfloat16) {
  SKIP_IF_REFUSED(check_factor_type("bf16", DType::bfloat16));
  DataParallelOptions options = test::small_options(2);
  options.activations = DType::bfloat16;
  DataParallel model(conv_and_linear(), kConvInput, options);
  Sgd sgd(model, {.learning_rate = 0.1f});
  const std::vector<float> x = normal_values(12 * kConvInput.size(), 1);
  const std::vector<int32_t> labels = some_labels(12, 4);
  model.train_step(x, labels, sgd);
  const double first = model.take_loss_stats().loss;
  for (int step = 0; step < 30; ++step) model.train_step(x, labels, sgd);
  static_cast<void>(model.take_loss_stats());
  model.train_step(x, labels, sgd);
  EXPECT_LT(model.take_loss_stats().loss, 0.1 * first);
  EXPECT_EQ(model.evaluate(x, labels).correct, 12);
}

TEST(Precision, TheFirstTensorThatIsNotFiniteIsNamedInBfloat16) {
  SKIP_IF_REFUSED(check_factor_type("bf16", DType::bfloat16));
  ModelFixture fixture(conv_and_linear(), kConvInput, {0}, 2, trained, Math::fp32, DType::bfloat16);
  std::vector<float> x = normal_values(2 * kConvInput.size(), 1);
  x[5] = 3.4e38f;  // finite as a float, infinite as a bfloat16
  fixture.upload(x);
  const auto found = first_nonfinite_in_forward(fixture.replicas, kTraining);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->text(), "input (cast to bfloat16): output [image 0, row 0, column 0, channel 5] is inf");
}

TEST(Precision, MathAndActivationsMustFit) {
  const auto refusal = [](Math math, DType activations) {
    return test::error_of([&] { make_graph(conv_and_linear(), kConvInput, math, activations); });
  };
  EXPECT_EQ(refusal(Math::tf32, DType::bfloat16),
            "graph: the math is tf32, must be fp32 with activations of bfloat16");
  EXPECT_EQ(refusal(Math::fp32, DType::float16),
            "graph: the activations are float16, must be float32 or bfloat16");
  EXPECT_EQ(test::error_of([] {
              make_graph(Sequential{Linear(3, {.math = Math::tf32})}, kConvInput, Math::fp32,
                         DType::bfloat16);
            }),
            "Linear: the math is tf32, must be fp32 with activations of bfloat16");
  EXPECT_EQ(test::error_of([] {
              make_graph(Sequential{Conv2d(3, 3, {.math = Math::tf32})}, kConvInput, Math::fp32,
                         DType::bfloat16);
            }),
            "Conv2d: the math is tf32, must be fp32 with activations of bfloat16");
}

TEST(Precision, AnUnknownOneIsRefused) {
  DataParallelOptions options = test::small_options(1);
  options.math = static_cast<Math>(7);
  try {
    const DataParallel model(conv_and_linear(), kConvInput, options);
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_TRUE(test::refused(error.status(), "DataParallel: math is the enumerator 7, must be from 0 to 2"));
  }
}

}  // namespace
}  // namespace rondo::nn
