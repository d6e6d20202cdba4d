// Limits on the unpacked size of a gzip file.
#include <gtest/gtest.h>
#include <rondo/nn/data/gzip.h>
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
  // Writes a file of about 1/1000 the size that unpacks to `mebibytes` MiB of zeros.
  void write_bomb(int64_t mebibytes, bool one_member) {
    Bytes packed;
    if (one_member) {
      packed = gzip(Bytes(static_cast<size_t>(mebibytes * kMiB)));
    } else {
      const Bytes member = gzip(Bytes(kMiB));
      for (int64_t i = 0; i < mebibytes; ++i) packed.insert(packed.end(), member.begin(), member.end());
    }
    write_file(path_, packed);
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "bomb.gz";
};

TEST_F(Gzip, ExactlyTheBoundIsRead) {
  const Bytes values = pattern(3 * kMiB + 5, 251);
  write_file(path_, gzip(values));
  const auto size = static_cast<int64_t>(values.size());
  EXPECT_EQ(read_maybe_gzip(path_, size), values);
  EXPECT_EQ(error_of([&] { read_maybe_gzip(path_, size - 1); }),
            path_ + ": unpacks to more than " + std::to_string(size - 1) + " bytes, must be at most that");
  write_file(path_, values);
  EXPECT_EQ(read_maybe_gzip(path_, size), values);
  EXPECT_EQ(
      error_of([&] { read_maybe_gzip(path_, size - 1); }),
      path_ + ": has " + std::to_string(size) + " bytes, must have at most " + std::to_string(size - 1));
}

// Refused at the limit, without the memory for the whole contents. Under the address sanitizer, freed memory
// counts too.
TEST_F(Gzip, ABombIsRefusedInBoundedMemory) {
  constexpr int64_t kUnpacked = 512, kBound = 32 * kMiB;
  for (const bool one_member : {false, true}) {
    write_bomb(one_member ? 64 : kUnpacked, one_member);
    const int64_t before = peak_bytes();
    EXPECT_EQ(missing(error_of([&] { read_maybe_gzip(path_, kBound); }),
                      {path_, "unpacks to more than 33554432 bytes"}),
              "");
    EXPECT_LT(peak_bytes() - before, kUnpacked * kMiB / 2);
  }
}

// The default limit. The file is sparse: it has the size but uses no disk space.
TEST_F(Gzip, TheBoundOfDataFilesIsOneGiB) {
  EXPECT_EQ(kMostDataBytes, 1024 * kMiB);
  write_file(path_, {0x1f, 0x8b});
  std::filesystem::resize_file(path_, static_cast<uintmax_t>(1024 * kMiB + 1));
  const int64_t before = peak_bytes();
  EXPECT_EQ(error_of([&] { read_maybe_gzip(path_); }),
            path_ + ": has 1073741825 bytes, must have at most 1073741824");
  EXPECT_LT(peak_bytes() - before, 16 * kMiB) << "it was read";
}

}  // namespace
}  // namespace rondo::test
