#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/data/idx.h>
#include <rondo/nn/data/idx_folder.h>
#include <rondo/nn/io/folder.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>

namespace rondo {
namespace {

using Words = std::initializer_list<const char*>;

// A file of the data set. Its name has one of the stems, a separator, one of the suffixes, and .gz or not.
std::string find_file(const std::string& directory, Words stems, Words suffixes) {
  std::string unopened;  // a link that leads nowhere or in a circle, or a file that can't be accessed
  for (const char* stem : stems)
    for (const char* suffix : suffixes)
      for (const char* separator : {"-", "."})
        for (const char* packing : {".gz", ""}) {
          const std::filesystem::path path =
              std::filesystem::path(directory) / concat(stem, separator, suffix, packing);
          std::error_code ignored;
          if (std::filesystem::exists(path, ignored)) return path.string();
          if (unopened.empty() && is_name(path.string())) unopened = path.string();
        }
  if (!unopened.empty()) return unopened;  // opening it gives the reason
  std::string also;
  for (const char* suffix : suffixes)
    if (suffix != *suffixes.begin()) also += concat(" or ", suffix);
  throw Error(bad_argument(directory, " has no file ", *stems.begin(), "-", *suffixes.begin(),
                           ".gz (nor the same without .gz", also.empty() ? "" : "," + also,
                           "), one of the four files of the data set"));
}

nn::Shape image_of(const IdxFile& file) {
  const std::vector<int64_t>& shape = file.shape();
  if (shape.size() != 3 && shape.size() != 4)
    throw Error(
        bad_argument(file.path(), ": has ", counted(shape.size(), "dimension"),
                     ", must be 3 (images x height x width) or 4 (images x height x width x channels)"));
  const nn::Shape image = {shape[1], shape[2], shape.size() == 4 ? shape[3] : 1};
  if (shape[0] == 0) throw Error(bad_argument(file.path(), ": holds no images, must be at least one"));
  if (image.height == 0 || image.width == 0 || image.channels == 0)
    throw Error(bad_argument(file.path(), ": its images are ", image.height, " x ", image.width, " x ",
                             image.channels, ", must have at least one pixel and channel"));
  return image;
}

void check_shape(const nn::Shape& image, const nn::Shape& must, const IdxFile& file, const char* why) {
  if (image == must) return;
  throw Error(bad_argument(file.path(), ": its images are ", text(image), ", must be ", text(must), why));
}

void check_label_count(const IdxFile& labels, int64_t images) {
  const std::vector<int64_t>& shape = labels.shape();
  if (shape.size() != 1)
    throw Error(bad_argument(labels.path(), ": has ", counted(shape.size(), "dimension"),
                             ", must be 1 (a label an image)"));
  if (shape[0] != images)
    throw Error(bad_argument(labels.path(), ": holds ", counted(shape[0], "label"), ", must be ", images,
                             ", the number of images beside it"));
}

void check_labels(const IdxArray& labels, const std::string& path, int64_t classes) {
  const auto bad = std::find_if(labels.values.begin(), labels.values.end(),
                                [&](uint8_t label) { return label >= classes; });
  if (bad != labels.values.end())
    throw Error(bad_argument(path, ": label ", bad - labels.values.begin(), " is ", int{*bad},
                             ", must be 0 to ", classes - 1));
}

// The images and labels for training or for tests. The constructor compares their headers; load() unpacks
// them.
class Half {
 public:
  Half(const std::string& directory, Words image_stems, Words label_stems, const IdxLimits& limits)
      : images_(find_file(directory, image_stems, {"idx3-ubyte", "idx4-ubyte"})),
        labels_(find_file(directory, label_stems, {"idx1-ubyte"})),
        image_(image_of(images_)) {
    if (limits.image) check_shape(image_, *limits.image, images_, "");
    check_label_count(labels_, count());
  }

  const nn::Shape& image() const { return image_; }
  const IdxFile& images() const { return images_; }
  int64_t count() const { return images_.shape()[0]; }

  void load(int64_t classes, std::vector<uint8_t>* images, std::vector<uint8_t>* labels,
            IdxDataSet::File* image_file, IdxDataSet::File* label_file) {
    IdxArray read_labels = labels_.read();  // the smaller file first
    check_labels(read_labels, labels_.path(), classes);
    IdxArray read_images = images_.read();
    *images = std::move(read_images.values);
    *labels = std::move(read_labels.values);
    *image_file = {images_.path(), std::move(read_images.sha256)};
    *label_file = {labels_.path(), std::move(read_labels.sha256)};
  }

 private:
  IdxFile images_, labels_;
  nn::Shape image_;
};

void keep_first(std::vector<uint8_t>& images, std::vector<uint8_t>& labels, int64_t& count, int64_t samples,
                int64_t image_bytes) {
  count = std::min(count, samples);
  images.resize(static_cast<size_t>(count * image_bytes));
  labels.resize(static_cast<size_t>(count));
}

}  // namespace

IdxDataSet load_idx_folder(const std::string& directory, const IdxLimits& limits) {
  if (const std::string why = why_no_folder(directory); !why.empty())
    throw Error(
        bad_argument("'", directory, "' ", why, ", must be a folder with the four files of a data set"));
  Half train(directory, {"train-images"}, {"train-labels"}, limits);
  Half test(directory, {"t10k-images", "test-images"}, {"t10k-labels", "test-labels"}, limits);
  check_shape(test.image(), train.image(), test.images(), ", like those for training");
  IdxDataSet data;
  data.image = train.image();
  data.train_count = train.count();
  data.test_count = test.count();
  train.load(limits.classes, &data.train_images, &data.train_labels, &data.files[0], &data.files[1]);
  test.load(limits.classes, &data.test_images, &data.test_labels, &data.files[2], &data.files[3]);
  data.classes =
      1 + std::max(*std::ranges::max_element(data.train_labels), *std::ranges::max_element(data.test_labels));
  return data;
}

IdxDataSet::operator nn::DataSet() const {
  return {{image, train_images, train_labels}, {image, test_images, test_labels}};
}

void keep_first(IdxDataSet& data, int64_t samples) {
  keep_first(data.train_images, data.train_labels, data.train_count, samples, data.image.size());
  keep_first(data.test_images, data.test_labels, data.test_count, samples, data.image.size());
}

}  // namespace rondo
