// DataFile, and limits on what a gzip file of a data set unpacks.
#include <gtest/gtest.h>
#include <rondo/nn/data/fashion_mnist.h>
#include <rondo/nn/data/gzip.h>
#include <rondo/nn/data/idx.h>
#include <rondo/tests/rondo/support/files.h>
#include <sys/resource.h>

#include <filesystem>

namespace rondo::test {
namespace {

constexpr int64_t kMiB = 1 << 20;

// Peak memory use of this process so far.
int64_t peak_bytes() {
  rusage usage{};
  EXPECT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  return int64_t{usage.ru_maxrss} * 1024;
}

class Gzip : public testing::Test {
 protected:
  // Writes a file that unpacks to `header` and `mebibytes` MiB of zeros, 1000 times its size.
  void write_bomb(const Bytes& header, int64_t mebibytes, const std::string& name = "bomb.gz") {
    Bytes packed = gzip(header);
    const Bytes member = gzip(Bytes(kMiB));
    for (int64_t i = 0; i < mebibytes; ++i) packed.insert(packed.end(), member.begin(), member.end());
    write_file(directory_ / name, packed);
  }
  // Refused with this message, and in a few megabytes of memory. Under the address sanitizer, freed memory
  // counts too.
  void expect_refused_early(const std::string& message) {
    const int64_t before = peak_bytes();
    EXPECT_EQ(error_of([&] { read_idx(path_); }), path_ + ": " + message);
    EXPECT_LT(peak_bytes() - before, 16 * kMiB);
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "bomb.gz";
};

TEST_F(Gzip, PartsAreTheContents) {
  const Bytes values = pattern(3 * kMiB + 5, 251);
  for (const Bytes& stored : {values, gzip(values)}) {
    write_file(path_, stored);
    DataFile file(path_);
    Bytes contents;
    for (const int64_t bytes : {int64_t{0}, int64_t{1}, kMiB, kMiB + 7}) {
      const size_t before = contents.size();
      file.read(&contents, bytes);
      EXPECT_EQ(contents.size(), before + static_cast<size_t>(bytes));
    }
    file.read(&contents, kMostDataBytes);
    EXPECT_EQ(contents, values);
    file.read(&contents, 1);
    EXPECT_EQ(contents.size(), values.size());
    EXPECT_GE(file.most_bytes(), 3 * kMiB + 5);
  }
}

// No more is unpacked than the header promises, whatever follows.
TEST_F(Gzip, ABombBehindItsHeaderIsRefused) {
  write_bomb(idx({2, 3, 5}, Bytes(30)), 512);
  expect_refused_early("has too many bytes: its header promises 2 x 3 x 5 values, but more bytes follow");
  write_bomb({}, 512);
  expect_refused_early(
      "begins with 0x00000000, must be 0x0000080n: an IDX file of unsigned bytes with n dimensions");
  write_bomb(bytes_of("<html>"), 512);
  EXPECT_EQ(missing(error_of([&] { read_idx(path_); }), {"web page"}), "");
}

TEST_F(Gzip, AHeaderThatPromisesMoreThanTheLimitIsRefused) {
  write_bomb(idx({(1u << 30) - 7}, {}), 512);  // one more than fits with the header
  expect_refused_early("has a header that promises 1073741817 values, must be at most 1073741816");
  write_bomb(idx({1 << 20, 1 << 20}, {}), 512);
  expect_refused_early("has a header that promises 1048576 x 1048576 values, must be at most 1073741812");
}

// Images of another size than the data set's are refused by the header.
TEST_F(Gzip, AShapeIsCheckedBeforeItsValuesAreUnpacked) {
  write_bomb(idx({512, 1024, 1024}, {}), 512, "train-images-idx3-ubyte.gz");
  write_file(directory_ / "train-labels-idx1-ubyte.gz", gzip(idx({512}, Bytes(512))));
  const int64_t before = peak_bytes();
  EXPECT_EQ(missing(error_of([&] { load_fashion_mnist(directory_.path(), Checksums::report); }),
                    {"its images are 1024 x 1024 x 1, must be 28 x 28 x 1"}),
            "");
  write_file(directory_ / "train-images-idx3-ubyte.gz", gzip(idx({2, 28, 28}, Bytes(2 * 784))));
  write_bomb(idx({512 * kMiB}, {}), 512, "train-labels-idx1-ubyte.gz");
  EXPECT_EQ(missing(error_of([&] { load_fashion_mnist(directory_.path(), Checksums::report); }),
                    {"holds 536870912 labels, must be 2"}),
            "");
  EXPECT_LT(peak_bytes() - before, 16 * kMiB);
}

// Nothing is unpacked of any file before the headers of all four have been compared, and labels are checked
// before images are unpacked.
TEST_F(Gzip, AllHeadersAreComparedBeforeValuesAreUnpacked) {
  constexpr uint32_t kMany = 512 * kMiB / 784;
  const auto refusal = [&] {
    return error_of([&] { load_fashion_mnist(directory_.path(), Checksums::report); });
  };
  write_bomb(idx({kMany, 28, 28}, {}), 512, "train-images-idx3-ubyte.gz");
  write_file(directory_ / "train-labels-idx1-ubyte.gz", gzip(idx({60}, Bytes(60))));
  const int64_t before = peak_bytes();
  EXPECT_EQ(missing(refusal(), {"train-labels", concat("holds 60 labels, must be ", kMany)}), "");
  write_file(directory_ / "train-labels-idx1-ubyte.gz", gzip(idx({kMany}, Bytes(kMany))));
  write_file(directory_ / "t10k-images-idx3-ubyte.gz", gzip(idx({2, 28, 28}, Bytes(2 * 784))));
  write_file(directory_ / "t10k-labels-idx1-ubyte.gz", gzip(idx({3}, Bytes(3))));
  EXPECT_EQ(missing(refusal(), {"t10k-labels", "holds 3 labels, must be 2"}), "");
  write_file(directory_ / "t10k-labels-idx1-ubyte.gz", gzip(idx({2}, Bytes(2))));
  write_file(directory_ / "train-labels-idx1-ubyte.gz", gzip(idx({kMany}, Bytes(kMany, 10))));
  EXPECT_EQ(missing(refusal(), {"train-labels", "label 0 is 10"}), "");
  EXPECT_LT(peak_bytes() - before, 16 * kMiB);
}

// The file is sparse: it has the size but uses no disk space.
TEST_F(Gzip, TheBoundOfDataFilesIsOneGiB) {
  EXPECT_EQ(kMostDataBytes, 1024 * kMiB);
  write_file(path_, {0x1f, 0x8b});
  std::filesystem::resize_file(path_, static_cast<uintmax_t>(1024 * kMiB + 1));
  expect_refused_early("has 1073741825 bytes, must have at most 1073741824");
}

// A short file cannot make its reader reserve what its header promises.
TEST_F(Gzip, AShortFileReservesLittle) {
  write_file(path_, gzip(idx({1 << 29}, Bytes(1000))));
  Bytes contents;
  DataFile file(path_);
  file.read(&contents, 1 << 29);
  EXPECT_EQ(contents.size(), 1008u);
  EXPECT_LT(contents.capacity(), static_cast<size_t>(4 * kMiB));
  expect_refused_early("is cut off: its header promises 536870912 values, but only 1000 bytes follow");
}

}  // namespace
}  // namespace rondo::test
