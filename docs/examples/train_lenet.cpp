// Trains LeNet on Fashion-MNIST, data-parallel on two ranks. Usage: train_lenet [DIRECTORY]
#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/nn/models/models.h>

#include <cstdio>

int main(int argc, char** argv) {
  using namespace rondo;
  const auto data = load_fashion_mnist(argc > 1 ? argv[1] : fashion_mnist_directory(), Checksums::report);
  nn::DataParallel model(nn::lenet(), {28, 28, 1}, {.devices = {0, 0}, .batch = 256});  // {0, 1}: two GPUs
  nn::Sgd sgd(model);
  const nn::FitOptions options = {.epochs = 10, .learning_rate = nn::LearningRate::constant(0.2)};
  for (const auto& epoch : nn::fit(model, sgd, data, options).epochs)
    std::printf("epoch %d: loss %.4f, test accuracy %.4f\n", int(epoch.epoch), epoch.train_loss,
                epoch.test_accuracy);
}
