// The convolutions of LeNet and of ResNet-18 (for 28 x 28 images), each shape once.
#pragma once

#include <rondo/bench/operators/conv_sample.h>

namespace rondo::bench {

// name, images, height, width, channels, output channels, filter rows and columns, stride, padding
inline constexpr ConvLayer kConvLayers[] = {
    {"lenet_conv1", 256, 28, 28, 1, 20, 3, 3, 1, 0},
    {"lenet_conv2", 256, 13, 13, 20, 50, 5, 5, 1, 0},
    {"resnet_stem", 256, 28, 28, 1, 64, 3, 3, 1, 1},
    {"resnet_64", 256, 28, 28, 64, 64, 3, 3, 1, 1},
    {"resnet_64_128", 256, 28, 28, 64, 128, 3, 3, 2, 1},
    {"resnet_64_128_shortcut", 256, 28, 28, 64, 128, 1, 1, 2, 0},
    {"resnet_128", 256, 14, 14, 128, 128, 3, 3, 1, 1},
    {"resnet_128_256", 256, 14, 14, 128, 256, 3, 3, 2, 1},
    {"resnet_128_256_shortcut", 256, 14, 14, 128, 256, 1, 1, 2, 0},
    {"resnet_256", 256, 7, 7, 256, 256, 3, 3, 1, 1},
    {"resnet_256_512", 256, 7, 7, 256, 512, 3, 3, 2, 1},
    {"resnet_256_512_shortcut", 256, 7, 7, 256, 512, 1, 1, 2, 0},
    {"resnet_512", 256, 4, 4, 512, 512, 3, 3, 1, 1},
};

}  // namespace rondo::bench
