// Trains briefly on 3 ranks and prints a hash of the parameters, for reproducible_test.cpp. Without an argument:
// LeNet by the lesson. With tf32 or bf16: a convolution in that precision, by wgmma if the device has it.

#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/optim/optimizers.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/nn/models/small_networks.h>
#include <rondo/tests/support/inputs.h>

#include <cstdio>
#include <cstring>

namespace {

using namespace rondo;

std::vector<int> three_ranks() { return {0, 1 % device_count(), 2 % device_count()}; }

std::vector<float> lenet_by_the_lesson() {
  lenet::Options options;
  options.batch_size = 64;
  options.epochs = 2;
  options.seed = 11;
  options.devices = three_ranks();
  lenet::Observer silent;
  lenet::Result result = lenet::train(test::small_data(150, 40), options, silent);
  for (const EpochReport& epoch : result.epochs)
    result.parameters.push_back(static_cast<float>(epoch.train_loss));
  return result.parameters;
}

std::vector<float> convolution(bool bf16) {
  nn::DataParallel model(nn::wide_convolution(), nn::kWideInput,
                         {.devices = three_ranks(),
                          .batch = 3,
                          .seed = 11,
                          .math = bf16 ? Math::fp32 : Math::tf32,
                          .activations = bf16 ? DType::bfloat16 : DType::float32});
  nn::Sgd sgd(model, {.learning_rate = 0.02f});
  for (const int64_t batch : {3, 2})
    model.train_step(test::normal_values(batch * nn::kWideInput.size(), 1), test::some_labels(batch, 3), sgd);
  return test::parameters_of(model);
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<float> values =
      count > 1 ? convolution(std::strcmp(arguments[1], "bf16") == 0) : lenet_by_the_lesson();
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  const auto* const bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(float); ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  std::printf("%016llx\n", static_cast<unsigned long long>(hash));
}
