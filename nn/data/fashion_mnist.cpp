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

// The images and labels for training or test. The constructor compares their headers; load() unpacks them.
class Half {
 public:
  Half(const std::string& directory, const KnownFile& images, const KnownFile& labels)
      : image_file_(images),
        label_file_(labels),
        images_(find_file(directory, images)),
        labels_(find_file(directory, labels)) {
    check_images(images_.shape(), images_.path());
    check_label_count(labels_.shape(), labels_.path(), images_.shape()[0]);
  }

  // Returns whether both files are byte for byte those of Fashion-MNIST.
  bool load(Checksums checksums, std::vector<uint8_t>* images, std::vector<uint8_t>* labels, int64_t* count) {
    IdxArray read_labels = labels_.read();  // the smaller file first
    check_labels(read_labels, labels_.path());
    IdxArray read_images = images_.read();
    const bool images_match = matches(read_images, image_file_, images_.path(), checksums);
    const bool labels_match = matches(read_labels, label_file_, labels_.path(), checksums);
    *images = std::move(read_images.values);
    *labels = std::move(read_labels.values);
    *count = images_.shape()[0];
    return images_match && labels_match;
  }

 private:
  const KnownFile &image_file_, &label_file_;
  IdxFile images_, labels_;
};

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
  Half train(directory, kTrainImages, kTrainLabels);
  Half test(directory, kTestImages, kTestLabels);
  FashionMnist data;
  const bool train_authentic =
      train.load(checksums, &data.train_images, &data.train_labels, &data.train_count);
  const bool test_authentic = test.load(checksums, &data.test_images, &data.test_labels, &data.test_count);
  data.authentic = train_authentic && test_authentic;
  return data;
}

FashionMnist::operator nn::DataSet() const {
  constexpr nn::Shape kImage = {kHeight, kWidth, 1};
  return {{kImage, train_images, train_labels}, {kImage, test_images, test_labels}};
}

void keep_first(FashionMnist& data, int64_t samples) {
  keep_first(data.train_images, data.train_labels, data.train_count, samples);
  keep_first(data.test_images, data.test_labels, data.test_count, samples);
}

}  // namespace rondo
