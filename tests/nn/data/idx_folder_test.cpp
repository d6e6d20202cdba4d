// Data sets of the user's own: IDX files of any shape and number of classes.
#include <gtest/gtest.h>
#include <rondo/nn/data/idx_folder.h>
#include <rondo/tests/rondo/support/files.h>

namespace rondo::test {
namespace {

class IdxFolder : public ::testing::Test {
 protected:
  // Five images for training and three for tests, of height x width x channels.
  void write(uint32_t height, uint32_t width, uint32_t channels, const Bytes& train_labels = {0, 2, 1, 2, 0},
             const Bytes& test_labels = {1, 0, 2}) {
    write_images("train-images", 5, height, width, channels);
    write_images("t10k-images", 3, height, width, channels);
    write_file(folder_ / "train-labels-idx1-ubyte", idx({5}, train_labels));
    write_file(folder_ / "t10k-labels-idx1-ubyte", idx({3}, test_labels));
  }
  void write_images(const std::string& stem, uint32_t count, uint32_t height, uint32_t width,
                    uint32_t channels) {
    std::vector<uint32_t> shape = {count, height, width};
    if (channels > 0) shape.push_back(channels);
    write_file(folder_ / (stem + "-idx" + std::to_string(shape.size()) + "-ubyte"),
               idx(shape, values(count * height * width * std::max(channels, 1u))));
  }
  static Bytes values(size_t count) { return pattern(count, 251); }
  IdxDataSet load(const IdxLimits& limits = {}) { return load_idx_folder(folder_.path().string(), limits); }
  void expect_refused(const std::vector<std::string>& parts, const IdxLimits& limits = {}) {
    EXPECT_EQ(missing(error_of([&] { load(limits); }), parts), "");
  }

  TemporaryDirectory folder_;
};

TEST_F(IdxFolder, ReadsBackWhatWasWritten) {
  for (const auto& [height, width, channels] : {std::array<uint32_t, 3>{4, 7, 3}, {1, 2, 1}, {32, 32, 3}}) {
    write(height, width, channels);
    const IdxDataSet data = load();
    EXPECT_EQ(data.image, (nn::Shape{height, width, channels}));
    EXPECT_EQ(data.classes, 3);
    EXPECT_EQ(data.train_count, 5);
    EXPECT_EQ(data.test_count, 3);
    EXPECT_EQ(data.train_images, values(5 * height * width * channels));
    EXPECT_EQ(data.test_images, values(3 * height * width * channels));
    EXPECT_EQ(data.train_labels, (Bytes{0, 2, 1, 2, 0}));
    EXPECT_EQ(data.test_labels, (Bytes{1, 0, 2}));
    const nn::DataSet views = data;
    EXPECT_EQ(views.train.image, data.image);
    EXPECT_EQ(views.test.size(), 3);
  }
}

TEST_F(IdxFolder, ThreeDimensionsAreOneChannel) {
  write(6, 5, 0);
  EXPECT_EQ(load().image, (nn::Shape{6, 5, 1}));
}

TEST_F(IdxFolder, TestImagesHaveEitherName) {
  write(6, 5, 3);
  std::filesystem::rename(folder_ / "t10k-images-idx4-ubyte", folder_ / "test-images-idx4-ubyte");
  std::filesystem::rename(folder_ / "t10k-labels-idx1-ubyte", folder_ / "test-labels-idx1-ubyte");
  EXPECT_EQ(load().test_labels, (Bytes{1, 0, 2}));
}

TEST_F(IdxFolder, ClassesAreCountedInBothHalves) {
  write(2, 2, 1, {0, 1, 0, 1, 0}, {1, 0, 0});
  EXPECT_EQ(load().classes, 2);
  write(2, 2, 1, {0, 1, 0, 1, 0}, {1, 99, 0});
  EXPECT_EQ(load().classes, 100);
  write(2, 2, 1, {0, 255, 0, 1, 0}, {1, 99, 0});
  EXPECT_EQ(load().classes, 256);
}

TEST_F(IdxFolder, KeepFirstKeepsWholeImages) {
  write(4, 5, 3);
  IdxDataSet data = load();
  keep_first(data, 4);
  EXPECT_EQ(data.train_images, values(4 * 60));
  EXPECT_EQ(data.test_images, values(3 * 60));
  EXPECT_EQ(data.train_labels.size(), 4u);
}

TEST_F(IdxFolder, RefusesWhatIsNoDataSet) {
  write(4, 5, 3);
  expect_refused({"train-labels-idx1-ubyte: label 1 is 2, must be 0 to 1"}, {.classes = 2});
  expect_refused({"train-images-idx4-ubyte: its images are 4 x 5 x 3, must be 4 x 4 x 3"},
                 {.image = nn::Shape{4, 4, 3}});
  write_images("t10k-images", 3, 4, 6, 3);
  expect_refused(
      {"t10k-images-idx4-ubyte: its images are 4 x 6 x 3, must be 4 x 5 x 3, like those for training"});
  write_images("t10k-images", 2, 4, 5, 3);
  expect_refused({"t10k-labels-idx1-ubyte: holds 3 labels, must be 2, the number of images beside it"});
  write(4, 0, 3);
  expect_refused(
      {"train-images-idx4-ubyte: its images are 4 x 0 x 3, must have at least one pixel and channel"});
  write(4, 5, 3);
  write_file(folder_ / "train-images-idx4-ubyte", idx({5, 4, 5, 3, 1}, values(300)));
  expect_refused(
      {"has 5 dimensions, must be 3 (images x height x width) or 4 (images x height x width x channels)"});
  write_file(folder_ / "train-images-idx4-ubyte", idx({5, 4, 5, 3}, values(299)));
  expect_refused({"train-images-idx4-ubyte: is cut off: its header promises 5 x 4 x 5 x 3 values"});
  Bytes floats = idx({5, 4, 5, 3}, values(300 * 4));
  floats[2] = 0x0D;
  write_file(folder_ / "train-images-idx4-ubyte", floats);
  expect_refused({"begins with 0x00000d04, must be 0x0000080n: an IDX file of unsigned bytes"});
  std::filesystem::remove(folder_ / "train-images-idx4-ubyte");
  expect_refused({"has no file train-images-idx3-ubyte.gz (nor the same without .gz, or idx4-ubyte)"});
}

}  // namespace
}  // namespace rondo::test
