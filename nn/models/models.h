// The networks of the three lessons, one of depthwise convolutions, and a transformer. `weights` applies to
// all convolutions and linear layers.
#pragma once

#include <rondo/nn/layers/init.h>
#include <rondo/nn/layers/module.h>

#include <string>
#include <vector>

namespace rondo::nn {

// LeNet for Fashion-MNIST: conv 20 @ 3x3, ReLU, average pooling 2x2, conv 50 @ 5x5, ReLU, average pooling
// 2x2, linear 128, ReLU, linear 10.
AnyModule lenet(int64_t classes = 10, WeightInit weights = {});

// ResNet-18 (He et al., "Deep residual learning for image recognition", 2015) for small images: a 3x3 stem
// without max pooling; two residual blocks each of 64, 128, 256 and 512 channels, where the first block of
// 128, 256 and 512 has stride 2; global average pooling; one linear layer. As in the lesson, convolutions
// have biases and a projection shortcut is only a 1x1 convolution.
AnyModule resnet18(int64_t classes = 10, WeightInit weights = {});

// MobileNet (Howard et al., "MobileNets: efficient convolutional neural networks for mobile vision
// applications", 2017) for small images: a 3x3 stem of 32 channels; seven depthwise separable blocks of 64,
// 128, 128, 256, 256, 512 and 512 channels, of which the second, fourth and sixth have stride 2; global
// average pooling; one linear layer. A block is a depthwise 3x3 convolution and a 1x1 convolution, without
// biases, each followed by batch normalisation and a ReLU.
AnyModule mobilenet(int64_t classes = 10, WeightInit weights = {});

// A small vision transformer (Dosovitskiy et al., "An image is worth 16x16 words", 2021) for small images:
// patches of 4 x 4 as tokens of 64 channels (a convolution of stride 4), a position embedding, `blocks`
// blocks, layer normalisation, the average of all tokens instead of a class token, and one linear layer. Each
// block computes z = x + attention(layer_norm(x)), with 4 heads, then z + mlp(layer_norm(z)), where mlp() is
// a convolution of 1 x 1 to 128 channels, GELU, and one back to 64.
AnyModule vit(int64_t classes = 10, WeightInit weights = {}, int64_t blocks = 4);

// `layers` linear layers of `width` outputs, each followed by a ReLU, then a linear layer of `outputs`.
AnyModule mlp(int64_t layers = 90, int64_t width = 2056, int64_t outputs = 10, WeightInit weights = {});

// A model by its command-line name, with the input shape of its training: `image` and `classes` are those of
// the models of images, by default of Fashion-MNIST. Throws a bad_argument Error that lists the names.
struct NamedModel {
  AnyModule network;
  Shape input;
};
NamedModel model(const std::string& name, WeightInit weights = {}, Shape image = {28, 28, 1},
                 int64_t classes = 10);
std::vector<std::string> model_names();
std::vector<std::string> image_model_names();  // of those that train on images

}  // namespace rondo::nn
