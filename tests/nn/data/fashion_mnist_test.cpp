#include <gtest/gtest.h>
#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/real_images.h>

#include <algorithm>

namespace rondo::test {
namespace {

class DataSet : public ::testing::Test {
 protected:
  DataSet() { write_data_set(directory_.path(), 5, 3); }

  FashionMnist load(Checksums checksums = Checksums::report) {
    return load_fashion_mnist(directory_.path().string(), checksums);
  }
  void expect_refused(const std::vector<std::string>& parts) {
    EXPECT_EQ(missing(error_of([&] { load(); }), parts), "");
  }
  void rename(const std::string& from, const std::string& to) {
    std::filesystem::rename(directory_ / from, directory_ / to);
  }
  void replace(const std::string& name, const Bytes& content) {
    write_file(directory_ / name, gzip(content));
  }

  TemporaryDirectory directory_;
};

TEST_F(DataSet, LoadsAllFourFiles) {
  const FashionMnist data = load();
  EXPECT_EQ(data.train_count, 5);
  EXPECT_EQ(data.test_count, 3);
  EXPECT_EQ(data.train_images, pattern(5 * 784, 251));
  EXPECT_EQ(data.train_labels, pattern(5, 10));
  EXPECT_EQ(data.test_images, pattern(3 * 784, 241));
  EXPECT_EQ(data.test_labels, pattern(3, 9));
  EXPECT_FALSE(data.authentic);
}

TEST_F(DataSet, FindsTheOtherSpellings) {
  rename("train-images-idx3-ubyte.gz", "train-images.idx3-ubyte.gz");
  write_file(directory_ / "train-labels.idx1-ubyte", idx({5}, pattern(5, 10)));
  std::filesystem::remove(directory_ / "train-labels-idx1-ubyte.gz");
  write_file(directory_ / "t10k-images-idx3-ubyte", idx({3, 28, 28}, pattern(3 * 784, 241)));
  std::filesystem::remove(directory_ / "t10k-images-idx3-ubyte.gz");
  EXPECT_EQ(load().train_labels, pattern(5, 10));
}

TEST_F(DataSet, TheOriginalIsRequiredWhenAskedFor) {
  const std::string text = error_of([&] { load(Checksums::require); });
  EXPECT_EQ(missing(text, {"train-images-idx3-ubyte.gz", "SHA-256",
                           "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"}),
            "");
}

TEST_F(DataSet, KeepFirstShortensBothHalves) {
  FashionMnist data = load();
  keep_first(data, 4);
  EXPECT_EQ(data.train_count, 4);
  EXPECT_EQ(data.test_count, 3);
  EXPECT_EQ(data.train_images.size(), 4u * 784);
  EXPECT_EQ(data.train_labels, (Bytes{0, 7, 4, 1}));
  keep_first(data, 1);
  EXPECT_EQ(data.test_count, 1);
  EXPECT_EQ(data.test_labels.size(), 1u);
  EXPECT_EQ(data.test_images.size(), 784u);
}

TEST_F(DataSet, MissingDirectory) {
  EXPECT_EQ(missing(error_of([&] { load_fashion_mnist(directory_ / "absent", Checksums::report); }),
                    {directory_ / "absent", "does not exist"}),
            "");
  const std::string file = directory_ / "train-labels-idx1-ubyte.gz";
  EXPECT_EQ(missing(error_of([&] { load_fashion_mnist(file, Checksums::report); }),
                    {"'" + file + "' is a file, must be a folder"}),
            "");
}

// A link in a circle is something else than no file.
TEST_F(DataSet, LinksInACircle) {
  const std::string circle = directory_ / "circle";
  std::filesystem::create_symlink("circle", circle);
  EXPECT_EQ(missing(error_of([&] { load_fashion_mnist(circle, Checksums::report); }),
                    {"'" + circle + "' can't be opened (Too many levels of symbolic links)"}),
            "");
  const std::string images = directory_ / "train-images-idx3-ubyte.gz";
  rename("train-images-idx3-ubyte.gz", "train-images-idx3-ubyte");
  std::filesystem::create_symlink(circle, images);
  load();  // of several names, one that can be opened is taken
  rename("train-images-idx3-ubyte", "elsewhere");
  expect_refused({"'" + images + "' can't be opened (Too many levels of symbolic links)"});
}

TEST_F(DataSet, EachMissingFileIsNamed) {
  for (const char* name : {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                           "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"}) {
    rename(name, "elsewhere");
    expect_refused({directory_.path().string(), name});
    rename("elsewhere", name);
  }
}

TEST_F(DataSet, ImagesOfAnotherSize) {
  replace("t10k-images-idx3-ubyte.gz", idx({3, 32, 32}, pattern(3 * 1024, 256)));
  expect_refused({"t10k-images-idx3-ubyte.gz", "32 x 32", "28 x 28"});
  replace("t10k-images-idx3-ubyte.gz", idx({3, 28, 29}, pattern(3 * 28 * 29, 256)));
  expect_refused({"28 x 29"});
}

TEST_F(DataSet, ImagesAndLabelsExchanged) {
  replace("train-images-idx3-ubyte.gz", idx({5}, pattern(5, 10)));
  expect_refused({"train-images-idx3-ubyte.gz", "1 dimension,", "3"});
  replace("train-images-idx3-ubyte.gz", idx({5, 28, 28}, pattern(5 * 784, 256)));
  replace("train-labels-idx1-ubyte.gz", idx({5, 28, 28}, pattern(5 * 784, 256)));
  expect_refused({"train-labels-idx1-ubyte.gz", "3 dimensions", "1"});
}

TEST_F(DataSet, AsManyLabelsAsImages) {
  replace("train-labels-idx1-ubyte.gz", idx({6}, pattern(6, 10)));
  expect_refused({"train-labels-idx1-ubyte.gz", "6 labels", "5"});
}

TEST_F(DataSet, LabelOutOfRange) {
  replace("t10k-labels-idx1-ubyte.gz", idx({3}, {9, 9, 10}));
  expect_refused({"t10k-labels-idx1-ubyte.gz", "label 2 is 10", "0 to 9"});
}

TEST_F(DataSet, NoImages) {
  replace("train-images-idx3-ubyte.gz", idx({0, 28, 28}, {}));
  replace("train-labels-idx1-ubyte.gz", idx({0}, {}));
  expect_refused({"train-images-idx3-ubyte.gz", "no images"});
}

// Runs only where the real data is installed.
TEST(FashionMnistFiles, AreAuthentic) {
  const std::optional<FashionMnist> found = real_images();
  if (!found) GTEST_SKIP() << kNoRealImages;
  const FashionMnist& data = *found;
  EXPECT_EQ(data.train_count, 60'000);
  EXPECT_EQ(data.test_count, 10'000);
  EXPECT_EQ(data.train_images.size(), 60'000u * 784);
  std::vector<int> per_class(10, 0);
  for (uint8_t label : data.train_labels) ++per_class.at(label);
  EXPECT_EQ(per_class, std::vector<int>(10, 6000));
}

// One file of another origin is enough.
TEST(FashionMnistFiles, AreAuthenticTogether) {
  const std::optional<FashionMnist> found = real_images();
  if (!found) GTEST_SKIP() << kNoRealImages;
  const auto link = [&](const TemporaryDirectory& to, const std::string& beginning) {
    for (const auto& file : std::filesystem::directory_iterator(fashion_mnist_directory()))
      if (const std::string name = file.path().filename(); name.starts_with(beginning))
        std::filesystem::create_symlink(file.path(), to.path() / name);
  };
  const auto authentic = [](const TemporaryDirectory& directory) {
    return load_fashion_mnist(directory.path().string(), Checksums::report).authentic;
  };
  Bytes images = found->test_images, labels = found->test_labels;
  images[5] ^= 1;
  std::swap(*std::find(labels.begin(), labels.end(), 0), *std::find(labels.begin(), labels.end(), 1));
  {
    TemporaryDirectory directory;
    link(directory, "train-");
    link(directory, "t10k-labels");
    write_file(directory / "t10k-images-idx3-ubyte", idx({10'000, 28, 28}, images));
    EXPECT_FALSE(authentic(directory)) << "other test images";
  }
  {
    TemporaryDirectory directory;
    link(directory, "train-");
    link(directory, "t10k-images");
    write_file(directory / "t10k-labels-idx1-ubyte", idx({10'000}, labels));
    EXPECT_FALSE(authentic(directory)) << "other test labels";
  }
  {
    TemporaryDirectory directory;
    link(directory, "t10k-");
    write_file(directory / "train-images-idx3-ubyte", idx({1, 28, 28}, Bytes(784)));
    write_file(directory / "train-labels-idx1-ubyte", idx({1}, {0}));
    EXPECT_FALSE(authentic(directory)) << "other images and labels for training";
  }
}

}  // namespace
}  // namespace rondo::test
