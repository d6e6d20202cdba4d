// Fashion-MNIST: 60,000 training and 10,000 test images of clothing, 28 x 28 bytes, ten classes
// (H. Xiao, K. Rasul, R. Vollgraf, 2017). Any other data set in the same four files will do as well, MNIST
// for one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

struct FashionMnist {
  static constexpr int64_t kHeight = 28;
  static constexpr int64_t kWidth = 28;
  static constexpr int64_t kClasses = 10;
  static constexpr int64_t kImageBytes = kHeight * kWidth;

  std::vector<uint8_t> train_images;  // train_count x 28 x 28, row-major, 0 black to 255 white
  std::vector<uint8_t> train_labels;  // train_count, each 0 to 9
  std::vector<uint8_t> test_images;
  std::vector<uint8_t> test_labels;
  int64_t train_count = 0;
  int64_t test_count = 0;
  bool authentic = false;  // all four files are, byte for byte, those of Fashion-MNIST
};

// Where the Debian and Ubuntu package dataset-fashion-mnist puts the files.
inline constexpr const char* kInstalledFashionMnist = "/usr/share/datasets/fashion-mnist";

// The directory that the environment variable RONDO_DATA names, else kInstalledFashionMnist.
std::string fashion_mnist_directory();

enum class Checksums {
  require,  // files that are not Fashion-MNIST's are an error
  report,   // any valid data will do; FashionMnist::authentic says whether it is the original
};

// Loads the four files train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
// t10k-labels-idx1-ubyte from `directory`, gzipped (.gz) or not, also in the spelling
// train-images.idx3-ubyte. Throws a bad_argument Error that names the file, the value found in it and what
// would be valid.
FashionMnist load_fashion_mnist(const std::string& directory, Checksums checksums);

// Keeps the first `samples` training images and the first `samples` test images, where there are more.
void keep_first(FashionMnist& data, int64_t samples);

}  // namespace rondo
