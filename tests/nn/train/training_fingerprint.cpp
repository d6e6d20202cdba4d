// Trains briefly on 3 ranks and prints a hash of the parameters, for reproducible_test.cpp. Without an
// argument: LeNet by the lesson. With tf32 or bf16: convolutions in that precision, by wgmma if the device
// has it.

#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/optim/optimizers.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/nn/models/small_networks.h>
#include <rondo/tests/support/inputs.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace {

using namespace rondo;

std::vector<int> three_ranks() { return {0, 1 % device_count(), 2 % device_count()}; }

struct Trained {
  std::vector<float> parameters;
  std::vector<double> losses;
};

Trained lenet_by_the_lesson() {
  lenet::Options options;
  options.batch_size = 64;
  options.epochs = 2;
  options.seed = 11;
  options.devices = three_ranks();
  lenet::Observer silent;
  lenet::Result result = lenet::train(test::small_data(150, 40), options, silent);
  Trained trained = {std::move(result.parameters), {}};
  for (const EpochReport& epoch : result.epochs) trained.losses.push_back(epoch.train_loss);
  return trained;
}

Trained convolutions(bool bf16) {
  nn::DataParallel model(nn::wide_convolutions(), nn::kWideInput,
                         {.devices = three_ranks(),
                          .batch = 6,
                          .seed = 11,
                          .math = bf16 ? Math::fp32 : Math::tf32,
                          .activations = bf16 ? DType::bfloat16 : DType::float32});
  nn::Sgd sgd(model, {.learning_rate = 0.02f});
  model.train_step(test::normal_values(6 * nn::kWideInput.size(), 1), test::some_labels(6, 3), sgd);
  return {test::parameters_of(model), {model.take_loss_stats().loss}};
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view precision = count > 1 ? arguments[1] : "";
  if (!precision.empty() && precision != "tf32" && precision != "bf16") return 2;
  const Trained trained = precision.empty() ? lenet_by_the_lesson() : convolutions(precision == "bf16");
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  const auto add = [&](const auto& values) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (size_t i = 0; i < values.size() * sizeof values[0]; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  };
  add(trained.parameters);
  add(trained.losses);
  std::printf("%016llx\n", static_cast<unsigned long long>(hash));
}
