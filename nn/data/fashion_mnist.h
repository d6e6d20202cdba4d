// Fashion-MNIST: 60,000 training and 10,000 test images of clothing, 28 x 28 bytes, ten classes (H. Xiao, K.
// Rasul, R. Vollgraf, 2017). Other data sets in the same four files, such as MNIST, work too.
#pragma once

#include <rondo/nn/data/image_set.h>

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
  bool authentic = false;  // all four files are byte for byte those of Fashion-MNIST

  // Views of the images, of 28 x 28 x 1, and their labels. They are valid as long as this object: pass a
  // temporary as an argument, as to fit(), but do not keep its views in a variable.
  operator nn::DataSet() const;
};

// Where the Debian and Ubuntu package dataset-fashion-mnist installs the files.
inline constexpr const char* kInstalledFashionMnist = "/usr/share/datasets/fashion-mnist";

// The directory in the environment variable RONDO_DATA; if unset, kInstalledFashionMnist.
std::string fashion_mnist_directory();

enum class Checksums {
  require,  // other files than Fashion-MNIST's are an error
  report,   // accepts any valid data and sets FashionMnist::authentic
};

// Loads the files train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
// t10k-labels-idx1-ubyte from `directory`, gzipped (.gz) or not. The spelling train-images.idx3-ubyte is
// accepted too. Throws a bad_argument Error that names the file, the value found and the valid values.
FashionMnist load_fashion_mnist(const std::string& directory, Checksums checksums);

// Keeps at most the first `samples` training images and the first `samples` test images.
void keep_first(FashionMnist& data, int64_t samples);

}  // namespace rondo
