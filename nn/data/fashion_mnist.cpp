#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/nn/data/idx.h>
#include <rondo/nn/io/folder.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace rondo {
namespace {

// A file of the data set: its name before and after the separator, which is '-' or, in some copies, '.'; and
// the SHA-256 of the decompressed original. Distributions recompress the files, so the .gz files differ.
struct KnownFile {
  const char* stem;
  const char* suffix;
  const char* sha256;
};

constexpr KnownFile kTrainImages = {"train-images", "idx3-ubyte",
                                    "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"};
constexpr KnownFile kTrainLabels = {"train-labels", "idx1-ubyte",
                                    "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"};
constexpr KnownFile kTestImages = {"t10k-images", "idx3-ubyte",
                                   "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"};
constexpr KnownFile kTestLabels = {"t10k-labels", "idx1-ubyte",
                                   "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"};

std::string find_file(const std::string& directory, const KnownFile& file) {
  std::string unopened;  // a link that leads nowhere or in a circle, or a file that can't be accessed
  for (const char* separator : {"-", "."}) {
    for (const char* packing : {".gz", ""}) {
      const std::filesystem::path path =
          std::filesystem::path(directory) / concat(file.stem, separator, file.suffix, packing);
      std::error_code ignored;
      if (std::filesystem::exists(path, ignored)) return path.string();
      if (unopened.empty() && is_name(path.string())) unopened = path.string();
    }
  }
  if (!unopened.empty()) return unopened;  // opening it gives the reason
  throw Error(bad_argument(directory, " has no file ", file.stem, "-", file.suffix,
                           ".gz (nor the same without .gz), one of the four files of the data set"));
}

struct Half {  // images and labels for training or test
  IdxArray images;
  IdxArray labels;
  bool authentic = false;
};

void check_images(const std::vector<int64_t>& shape, const std::string& path) {
  if (shape.size() != 3)
    throw Error(
        bad_argument(path, ": has ", counted(shape.size(), "dimension"), ", must be 3 (images x 28 x 28)"));
  if (shape[1] != FashionMnist::kHeight || shape[2] != FashionMnist::kWidth)
    throw Error(
        bad_argument(path, ": its images are ", shape[1], " x ", shape[2], " pixels, must be 28 x 28"));
  if (shape[0] == 0) throw Error(bad_argument(path, ": holds no images, must be at least one"));
}

void check_label_count(const std::vector<int64_t>& shape, const std::string& path, int64_t images) {
  if (shape.size() != 1)
    throw Error(
        bad_argument(path, ": has ", counted(shape.size(), "dimension"), ", must be 1 (a label an image)"));
  if (shape[0] != images)
    throw Error(bad_argument(path, ": holds ", counted(shape[0], "label"), ", must be ", images,
                             ", the number of images beside it"));
}

void check_labels(const IdxArray& labels, const std::string& path) {
  const auto bad = std::find_if(labels.values.begin(), labels.values.end(),
                                [](uint8_t label) { return label >= FashionMnist::kClasses; });
  if (bad != labels.values.end())
    throw Error(
        bad_argument(path, ": label ", bad - labels.values.begin(), " is ", int{*bad}, ", must be 0 to 9"));
}

bool matches(const IdxArray& array, const KnownFile& file, const std::string& path, Checksums checksums) {
  if (array.sha256 == file.sha256) return true;
  if (checksums == Checksums::require)
    throw Error(bad_argument(path, ": its contents have the SHA-256 ", array.sha256, ", must be ",
                             file.sha256, " (Fashion-MNIST)"));
  return false;
}

Half load_half(const std::string& directory, const KnownFile& image_file, const KnownFile& label_file,
               Checksums checksums) {
  const std::string image_path = find_file(directory, image_file);
  const std::string label_path = find_file(directory, label_file);
  Half half;
  half.images = read_idx(image_path, [&](const auto& shape) { check_images(shape, image_path); });
  half.labels = read_idx(
      label_path, [&](const auto& shape) { check_label_count(shape, label_path, half.images.shape[0]); });
  check_labels(half.labels, label_path);
  const bool images_match = matches(half.images, image_file, image_path, checksums);
  const bool labels_match = matches(half.labels, label_file, label_path, checksums);
  half.authentic = images_match && labels_match;
  return half;
}

void keep_first(std::vector<uint8_t>& images, std::vector<uint8_t>& labels, int64_t& count, int64_t samples) {
  count = std::min(count, samples);
  images.resize(static_cast<size_t>(count * FashionMnist::kImageBytes));
  labels.resize(static_cast<size_t>(count));
}

}  // namespace

std::string fashion_mnist_directory() {
  const char* named = std::getenv("RONDO_DATA");
  return named && *named ? named : kInstalledFashionMnist;
}

FashionMnist load_fashion_mnist(const std::string& directory, Checksums checksums) {
  if (const std::string why = why_no_folder(directory); !why.empty())
    throw Error(
        bad_argument("'", directory, "' ", why, ", must be a folder with the four files of Fashion-MNIST"));
  Half train = load_half(directory, kTrainImages, kTrainLabels, checksums);
  Half test = load_half(directory, kTestImages, kTestLabels, checksums);

  FashionMnist data;
  data.train_count = train.images.shape[0];
  data.test_count = test.images.shape[0];
  data.train_images = std::move(train.images.values);
  data.train_labels = std::move(train.labels.values);
  data.test_images = std::move(test.images.values);
  data.test_labels = std::move(test.labels.values);
  data.authentic = train.authentic && test.authentic;
  return data;
}

void keep_first(FashionMnist& data, int64_t samples) {
  keep_first(data.train_images, data.train_labels, data.train_count, samples);
  keep_first(data.test_images, data.test_labels, data.test_count, samples);
}

}  // namespace rondo
