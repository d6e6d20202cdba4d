// Training steps of the three networks, of small sizes, on two devices.
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/optim/optimizers.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/nn/models/small_networks.h>
#include <rondo/tests/readings/record.h>

#include <ostream>
#include <string>
#include <vector>

namespace rondo::test {
namespace {

struct Precision {
  const char* name;
  Math math = Math::fp32;
  DType activations = DType::float32;
};
constexpr Precision kPrecisions[] = {
    {"fp32"}, {"tf32", Math::tf32}, {"tf32x3", Math::tf32x3}, {"bf16", Math::fp32, DType::bfloat16}};

struct Network {
  const char* name;
  nn::AnyModule module;
  nn::Shape input;
  int64_t batch;
  int classes;

  friend void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }
};

const std::vector<Network>& networks() {
  using namespace nn;
  static const std::vector<Network> all = {
      {"lenet", lenet(), {16, 16, 1}, 8, 10},
      {"resnet18", resnet18(), {8, 8, 1}, 4, 10},
      {"mlp", mlp(4, 72), {6, 6, 1}, 8, 10},
      {"wide_convolutions", wide_convolutions(), kWideInput, 4, 3},
      {"residual_relu",
       Sequential{Residual(Sequential{ReLU(), Conv2d(4, 3, {.padding = 1}), BatchNorm2d()}), GlobalAvgPool(),
                  Flatten(), Linear(3)},
       {6, 6, 4},
       6,
       3}};
  return all;
}

void record_array(const std::string& name, const std::vector<float>& values) {
  if (values.size() > 100'000)
    record_hashes(name, values);
  else
    record(name, output_of(values));
}

// Two steps: the losses, and parameters and the optimizer's state after each.
void record_steps(const Network& network, const Precision& precision, const std::vector<int>& devices) {
  const std::string name = concat(network.name, ", ", precision.name);
  SCOPED_TRACE(name);
  nn::DataParallel model(network.module, network.input,
                         {.devices = devices,
                          .batch = network.batch,
                          .seed = 3,
                          .math = precision.math,
                          .activations = precision.activations});
  nn::Adam adam(model);
  for (uint64_t step = 1; step <= 2; ++step) {
    model.train_step(normal_values(network.batch * network.input.size(), step),
                     some_labels(network.batch, network.classes), adam);
    record(concat(name, ", loss of step ", step),
           output_of(std::vector<double>{model.take_loss_stats().loss}));
    record_array(concat(name, ", parameters of step ", step), parameters_of(model));
    for (const auto& arena : adam.memory(0).arenas) {
      std::vector<float> values(static_cast<size_t>(arena.values.size));
      RONDO_CUDA_THROW(cudaMemcpy(values.data(), arena.values.data, values.size() * sizeof(float),
                                  cudaMemcpyDeviceToHost));
      record_array(concat(name, ", ", arena.name, " of step ", step), values);
    }
  }
  EXPECT_EQ(nn::differing_values(model), 0);
}

class RecordedSteps : public testing::TestWithParam<Network> {};

TEST_P(RecordedSteps, OfNetwork) {
  for (const Precision& precision : kPrecisions)
    if (check_math("", precision.math).ok() && check_factor_type("", precision.activations).ok())
      record_steps(GetParam(), precision, {0, 1 % device_count()});
}

INSTANTIATE_TEST_SUITE_P(Networks, RecordedSteps, testing::ValuesIn(networks()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace rondo::test
