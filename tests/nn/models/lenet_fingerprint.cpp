// Trains LeNet briefly on 3 ranks and prints a hash of the parameters, for reproducible_test.cpp.

#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/tests/nn/models/small_data.h>

#include <cstdio>
#include <cstring>

int main() {
  using namespace rondo;
  lenet::Options options;
  options.batch_size = 64;
  options.epochs = 2;
  options.seed = 11;
  options.devices = {0, 1 % device_count(), 2 % device_count()};
  lenet::Observer silent;
  const lenet::Result result = lenet::train(test::small_data(150, 40), options, silent);

  uint64_t hash = 14695981039346656037u;  // FNV-1a
  const auto add = [&](const void* data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
      hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
  };
  add(result.parameters.data(), result.parameters.size() * sizeof(float));
  for (const EpochReport& epoch : result.epochs) add(&epoch.train_loss, sizeof epoch.train_loss);
  std::printf("%016llx\n", static_cast<unsigned long long>(hash));
}
