// ImageSet: labelled images, or other samples, in host memory. fit() takes a DataSet of two, to which
// FashionMnist converts.
//
//   const std::vector<uint8_t> images = ..., labels = ...;   // 32 x 32 x 3 bytes an image, one label each
//   const nn::ImageSet train = {{32, 32, 3}, images, labels};
//
//   const std::vector<float> table = ...;                    // 12 values a sample
//   const nn::ImageSet train = {{1, 1, 12}, table, labels};
//
//   const std::vector<int32_t> words = ...;                  // labels above 255
//   const nn::ImageSet train = {{1, 1, 12}, table, words};
#pragma once

#include <rondo/kernels/data/augmentation.h>
#include <rondo/nn/graph/tensor.h>

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace rondo::nn {

// The labels of samples: bytes, or int32 for networks of more than 256 outputs.
using SampleLabels = std::variant<std::span<const uint8_t>, std::span<const int32_t>>;

// The values of samples: bytes, where b stands for the value b / 255, or finite floats.
using SampleValues = std::variant<std::span<const uint8_t>, std::span<const float>>;

// Views: the caller keeps the memory.
struct ImageSet {
  Shape image;          // of each image: height x width x channels, or a vector
  SampleValues images;  // one after the other, each in NHWC order
  SampleLabels labels;  // one per image, from 0 to below the number of the network's outputs

  int64_t size() const {
    return std::visit([](auto all) { return static_cast<int64_t>(all.size()); }, labels);
  }
};

// Images to train with and images to test with.
struct DataSet {
  ImageSet train, test;
};

// The network's input is (value - mean) / stddev, with a mean and a standard deviation for each channel, or
// one for all. Empty: the value, which is byte / 255, or a float unchanged. The rounded 1 / (255 stddev), of
// floats 1 / stddev, and -mean / stddev are applied in one fused multiply-add. So the error of a value near
// the mean is up to 2^-23 |mean / stddev|.
struct Normalize {
  std::vector<float> mean, stddev;

  bool operator==(const Normalize&) const = default;
};

// Mean and standard deviation of each channel, over all pixels of all images. The sums of bytes are exact,
// those of floats are added in double. Throws a bad_argument Error for no images, and for a channel that
// check_normalize() would refuse, such as one in which all values are equal.
Normalize normalize_of(const ImageSet& set);

// Throws a bad_argument Error that begins with `who` unless `normalize` has finite means and as many standard
// deviations above 0, for each of `channels`, for all in common, or none.
void check_normalize(const char* who, const Normalize& normalize, int64_t channels);

// Throws a bad_argument Error that begins with `who` unless these random changes are possible for images of
// this shape: options in range, and none for vectors.
void check_augments(const char* who, const Augmentation& augmentation, const Shape& image);

// Throws a bad_argument Error that begins with `who` unless a network with this input and this number of
// outputs can train on the images: each has the input's shape, or as many values where one of the two is a
// vector; there is at least one; there is a label for each, in [0, outputs); floats are finite.
void check_images(const char* who, const ImageSet& set, const Shape& input, int64_t outputs);

}  // namespace rondo::nn
