// Fashion-MNIST: 60,000 training and 10,000 test images of clothing, 28 x 28 bytes, ten classes (H. Xiao, K.
// Rasul, R. Vollgraf, 2017). Other data sets of this shape, such as MNIST, work too; load_idx_folder()
// (idx_folder.h) loads those of any shape.
#pragma once

#include <rondo/nn/data/idx_folder.h>

#include <cstdint>
#include <string>

namespace rondo {

// 0 is black and 255 white.
struct FashionMnist : IdxDataSet {
  static constexpr int64_t kHeight = 28;
  static constexpr int64_t kWidth = 28;
  static constexpr int64_t kClasses = 10;
  static constexpr int64_t kImageBytes = kHeight * kWidth;
  static constexpr nn::Shape kImage = {kHeight, kWidth, 1};

  FashionMnist() {
    image = kImage;
    classes = kClasses;
  }
  bool authentic = false;  // all four files are byte for byte those of Fashion-MNIST
};

// Where the Debian and Ubuntu package dataset-fashion-mnist installs the files.
inline constexpr const char* kInstalledFashionMnist = "/usr/share/datasets/fashion-mnist";

// The directory in the environment variable RONDO_DATA; if unset, kInstalledFashionMnist.
std::string fashion_mnist_directory();

enum class Checksums {
  require,  // other files than Fashion-MNIST's are an error
  report,   // accepts any valid data and sets FashionMnist::authentic
};

// Loads the four files from `directory`, like load_idx_folder(), for images of 28 x 28 and labels from 0 to
// 9. Throws a bad_argument Error that names the file, the value found and the valid values.
FashionMnist load_fashion_mnist(const std::string& directory, Checksums checksums);

// Whether all four files are byte for byte those of Fashion-MNIST.
bool is_fashion_mnist(const IdxDataSet& data);

}  // namespace rondo
