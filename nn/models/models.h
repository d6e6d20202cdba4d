// The networks of the three lessons, as modules. `weights` is for all their convolutions and linear layers.
#pragma once

#include <rondo/nn/layers/init.h>
#include <rondo/nn/layers/module.h>

#include <string>
#include <vector>

namespace rondo::nn {

// LeNet for Fashion-MNIST: conv 20 @ 3x3, ReLU, average of 2x2, conv 50 @ 5x5, ReLU, average of 2x2, 128, ReLU, 10.
AnyModule lenet(int64_t classes = 10, WeightInit weights = {});

// ResNet-18 (He et al., "Deep residual learning for image recognition", 2015) for small images: a 3x3 stem without a maximum
// pool, then 64-128-256-512 channels with two residual blocks each, the first of each but the 64 with stride 2, a global
// average, and one linear layer. Convolutions have biases, and the shortcuts are a 1x1 convolution alone, as in the lesson.
AnyModule resnet18(int64_t classes = 10, WeightInit weights = {});

// `layers` linear layers of `width` with a ReLU each, and one of `outputs` without.
AnyModule mlp(int64_t layers = 90, int64_t width = 2056, int64_t outputs = 10, WeightInit weights = {});

// A model by the name that the program knows it by, and the shape of its inputs in its lesson. Throws a bad_argument Error
// that lists the names.
struct NamedModel {
  AnyModule network;
  Shape input;
};
NamedModel model(const std::string& name, WeightInit weights = {});
std::vector<std::string> model_names();

}  // namespace rondo::nn
