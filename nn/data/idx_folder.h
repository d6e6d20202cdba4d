// A data set of the user's own: images and labels for training and for tests, in a folder of IDX files
// (idx.h).
//
//   const IdxDataSet data = load_idx_folder("stripes");
//   nn::DataParallel model(nn::mobilenet(data.classes), data.image, {.batch = 64});
//   nn::fit(model, sgd, data, {.epochs = 10});
#pragma once

#include <rondo/nn/data/image_set.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo {

struct IdxDataSet {
  nn::Shape image = {};               // height x width x channels of each image
  int64_t classes = 0;                // the largest label + 1
  std::vector<uint8_t> train_images;  // train_count x height x width x channels, row-major
  std::vector<uint8_t> train_labels;  // train_count, each below classes
  std::vector<uint8_t> test_images;
  std::vector<uint8_t> test_labels;
  int64_t train_count = 0;
  int64_t test_count = 0;

  struct File {
    std::string path, sha256;  // of the whole decompressed file
  };
  std::array<File, 4> files;  // training images and labels, test images and labels

  // Views of the images and their labels. They are valid as long as this object: pass a temporary as an
  // argument, as to fit(), but do not keep its views in a variable.
  operator nn::DataSet() const;
};

struct IdxLimits {
  std::optional<nn::Shape> image = std::nullopt;  // the shape that images must have; none: any
  int64_t classes = 256;                          // all labels must be below
};

// Loads four files of unsigned bytes from `directory`, gzipped (.gz) or not:
//   train-images-idx3-ubyte    images x height x width, or
//   train-images-idx4-ubyte    images x height x width x channels
//   train-labels-idx1-ubyte    a label for each
//   t10k-images-..., t10k-labels-...    the same for tests; or test-images-..., test-labels-...
// The spelling train-images.idx3-ubyte is accepted too. Throws a bad_argument Error that names the file, the
// value found and the valid values: for a missing or damaged file, another number of labels than of images,
// test images of another shape than those for training, a label outside the limits.
IdxDataSet load_idx_folder(const std::string& directory, const IdxLimits& limits = {});

// Keeps at most the first `samples` training images and the first `samples` test images.
void keep_first(IdxDataSet& data, int64_t samples);

}  // namespace rondo
