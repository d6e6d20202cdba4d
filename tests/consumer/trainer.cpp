// LeNet on two ranks, as in a user's program.

#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/nn/models/models.h>
#include <rondo/version.h>

#include <cstdio>

int main() {
  using namespace rondo;
  nn::DataParallel model(nn::lenet(), {28, 28, 1}, {.devices = {0, 0}, .batch = 64});
  nn::Sgd sgd(model, {.learning_rate = 0.1f});
  std::vector<float> images(64 * 784);
  std::vector<int32_t> labels(64);
  for (size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<int32_t>(i % 2);
    for (size_t pixel = 0; pixel < 392; ++pixel) images[i * 784 + (i % 2) * 392 + pixel] = 1;
  }
  for (int step = 0; step < 30; ++step) model.train_step(images, labels, sgd);
  const LossStats result = model.evaluate(images, labels);
  std::printf("Rondo %s: %d of %d right, %d values differ between the replicas\n", RONDO_VERSION_STRING,
              static_cast<int>(result.correct), static_cast<int>(result.rows),
              static_cast<int>(differing_values(model)));
  return result.correct == 64 && differing_values(model) == 0 ? 0 : 1;
}
