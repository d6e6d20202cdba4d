// A synthetic data set: ten classes, each with its own pattern plus noise.
#pragma once

#include <rondo/nn/data/fashion_mnist.h>

#include <random>

namespace rondo::test {

inline FashionMnist small_data(int64_t train_count, int64_t test_count) {
  FashionMnist data;
  data.train_count = train_count;
  data.test_count = test_count;
  std::mt19937 random(20);
  const auto fill = [&](int64_t count, std::vector<uint8_t>& images, std::vector<uint8_t>& labels) {
    for (int64_t i = 0; i < count; ++i) {
      const auto label = static_cast<uint8_t>(random() % 10);
      labels.push_back(label);
      for (int64_t pixel = 0; pixel < FashionMnist::kImageBytes; ++pixel) {
        const int64_t row = pixel / FashionMnist::kWidth, column = pixel % FashionMnist::kWidth;
        const bool bright = (row / 3 + column * (label + 1) / 9) % 3 == label % 3;
        images.push_back(static_cast<uint8_t>((bright ? 128 : 0) + random() % 128));
      }
    }
  };
  fill(train_count, data.train_images, data.train_labels);
  fill(test_count, data.test_images, data.test_labels);
  return data;
}

}  // namespace rondo::test
