// Classifies the rows of a table of floats: four columns of measurements, two classes.
#include <rondo/nn/data/device_images.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>

#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

using namespace rondo::nn;

constexpr int kColumns = 4;

// The class is whether the first two columns lie on the same side of their means, which no line separates.
struct Table {
  Table(int rows, unsigned seed) {
    std::mt19937 random(seed);
    const auto draw = [&](float from, float to) {
      return from + (to - from) * static_cast<float>(random() % 1000) / 999;
    };
    for (int row = 0; row < rows; ++row) {
      const float age = draw(20, 80), income = draw(0, 90'000);
      values.insert(values.end(), {age, income, draw(-1, 1), draw(1e-3f, 2e-3f)});
      labels.push_back((age > 50) == (income > 45'000));
    }
  }
  operator ImageSet() const { return {{1, 1, kColumns}, values, labels}; }

  std::vector<float> values;
  std::vector<uint8_t> labels;
};

int main() {
  const Table train(2000, 1), test(500, 2);
  const Sequential network = {Linear(32), ReLU(), Linear(32), ReLU(), Linear(2)};
  DataParallel model(network, {1, 1, kColumns}, {.devices = {0, 0}, .batch = 100});  // {0, 1}: two GPUs
  Adam adam(model);
  const FitOptions options = {
      .epochs = 8, .learning_rate = LearningRate::constant(0.01), .normalize = normalize_of(train)};
  for (const auto& epoch : fit(model, adam, {train, test}, options).epochs)
    std::printf("epoch %d: loss %.4f, test accuracy %.4f\n", int(epoch.epoch), epoch.train_loss,
                epoch.test_accuracy);
}
