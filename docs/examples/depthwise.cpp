// A network with depthwise convolutions on images of the program's own: trained on random crops on three
// ranks, saved, loaded on one, and evaluated. Usage: depthwise FILE
#include <rondo/nn/checkpoint/checkpoint.h>
#include <rondo/nn/data/device_images.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/nn/layers/batch_norm.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>

#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

using namespace rondo::nn;

constexpr int kSide = 16;

// Images of 16 x 16 pixels in colour, with stripes in one of four directions, which are the classes.
struct Stripes {
  explicit Stripes(int count, unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < count; ++i) {
      const int direction = i % 4, phase = static_cast<int>(random() % 4);
      const unsigned colour = random();
      for (int y = 0; y < kSide; ++y)
        for (int x = 0; x < kSide; ++x) {
          const int along[] = {x, y, x + y, x - y + kSide};
          const bool bright = (along[direction] + phase) / 2 % 2 == 0;
          for (int c = 0; c < 3; ++c)
            images.push_back(static_cast<uint8_t>(bright ? colour >> 8 * c & 255 : random() % 64));
        }
      labels.push_back(static_cast<uint8_t>(direction));
    }
  }
  operator ImageSet() const { return {{kSide, kSide, 3}, images, labels}; }

  std::vector<uint8_t> images, labels;
};

AnyModule network() {
  return Sequential{
      Conv2d(16, 3, {.padding = 1, .bias = false}),
      BatchNorm2d(),
      ReLU(),
      Conv2d(16, 3, {.padding = 1, .bias = false, .groups = 16}),  // one filter for each channel
      BatchNorm2d(),
      ReLU(),
      Conv2d(32, 1, {.bias = false}),
      BatchNorm2d(),
      ReLU(),
      Conv2d(32, 3, {.padding = 2, .bias = false, .dilation = 2, .groups = 32}),
      BatchNorm2d(),
      ReLU(),
      GlobalAvgPool(),
      Flatten(),
      Linear(4)};
}

double accuracy(DataParallel& model, const Stripes& images) {
  const rondo::LossStats stats = model.evaluate(DeviceImages(model, images.images, images.labels));
  return static_cast<double>(stats.correct) / static_cast<double>(stats.rows);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const Stripes train(960, 1), test(200, 2);
  DataParallel model(network(), {kSide, kSide, 3}, {.devices = {0, 0, 0}, .batch = 48});  // {0, 1, 2}: GPUs
  Adam adam(model, {.learning_rate = 0.01f});
  const FitOptions options = {
      .epochs = 4, .learning_rate = LearningRate::constant(0.01), .augmentation = {.padding = 2}};
  for (const auto& epoch : fit(model, adam, {train, test}, options).epochs)
    std::printf("epoch %d: loss %.4f\n", int(epoch.epoch), epoch.train_loss);
  std::printf("accuracy %.4f\n", accuracy(model, test));
  save_parameters(argv[1], model);

  DataParallel loaded(network(), {kSide, kSide, 3});
  load_parameters(argv[1], loaded);
  std::printf("loaded: accuracy %.4f\n", accuracy(loaded, test));
}
