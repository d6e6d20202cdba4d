// ImageSet: labelled images in host memory. fit() takes a DataSet of two, to which FashionMnist converts.
//
//   const std::vector<uint8_t> images = ..., labels = ...;   // 32 x 32 x 3 bytes an image, one label each
//   const nn::ImageSet train = {{32, 32, 3}, images, labels};
#pragma once

#include <rondo/nn/graph/tensor.h>

#include <cstdint>
#include <span>

namespace rondo::nn {

// Views: the caller keeps the memory.
struct ImageSet {
  Shape image;                      // of each image: height x width x channels, or a vector
  std::span<const uint8_t> images;  // one after the other, each in NHWC order; byte b stands for b / 255
  std::span<const uint8_t> labels;  // one per image, below the number of the network's outputs

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

// Images to train with and images to test with.
struct DataSet {
  ImageSet train, test;
};

// Throws a bad_argument Error that begins with `who` unless a network with this input and this number of
// outputs can train on the images: each has the input's shape, or as many values where one of the two is a
// vector; there is at least one; there is a label for each, in [0, outputs).
void check_images(const char* who, const ImageSet& set, const Shape& input, int64_t outputs);

}  // namespace rondo::nn
