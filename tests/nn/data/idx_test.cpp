#include <gtest/gtest.h>
#include <rondo/nn/data/idx.h>
#include <rondo/tests/rondo/support/files.h>

namespace rondo::test {
namespace {

class Idx : public ::testing::Test {
 protected:
  // Reads `bytes` as a file with this name.
  IdxArray read(const Bytes& bytes, const std::string& name = "file.gz") {
    path_ = directory_ / name;
    write_file(path_, bytes);
    return read_idx(path_);
  }
  // Expects an error for `bytes` that names the file and contains all `parts`.
  void expect_refused(const Bytes& bytes, const std::vector<std::string>& parts) {
    const std::string text = error_of([&] { read(bytes); });
    EXPECT_EQ(missing(text, {path_}), "");
    EXPECT_EQ(missing(text, parts), "");
  }

  TemporaryDirectory directory_;
  std::string path_;
};

const Bytes kValues = pattern(2 * 3 * 5, 256);
const Bytes kGood = idx({2, 3, 5}, kValues);

TEST_F(Idx, ReadsPlainAndGzippedWhateverTheName) {
  for (const Bytes& content : {kGood, gzip(kGood)}) {
    for (const char* name : {"a-ubyte", "a-ubyte.gz"}) {
      const IdxArray array = read(content, name);
      EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 3, 5}));
      EXPECT_EQ(array.values, kValues);
    }
  }
}

TEST_F(Idx, DigestIsOfTheDecompressedFile) {
  EXPECT_EQ(read(kGood).sha256, read(gzip(kGood)).sha256);
  EXPECT_NE(read(kGood).sha256, read(idx({2, 5, 3}, kValues)).sha256);
}

TEST_F(Idx, ReadsSeveralGzipMembers) {
  const Bytes first(kGood.begin(), kGood.begin() + 9), second(kGood.begin() + 9, kGood.end());
  Bytes both = gzip(first);
  const Bytes rest = gzip(second);
  both.insert(both.end(), rest.begin(), rest.end());
  EXPECT_EQ(read(both).values, kValues);
}

TEST_F(Idx, ReadsLargeFiles) {
  const Bytes values = pattern(5'000'000, 256);  // more than one chunk of the reader
  EXPECT_EQ(read(gzip(idx({5'000'000}, values))).values, values);
  EXPECT_EQ(read(idx({5'000'000}, values)).values, values);
}

TEST_F(Idx, NoValuesAreLegal) { EXPECT_EQ(read(idx({0, 28, 28}, {})).shape[0], 0); }

TEST_F(Idx, EveryPrefixIsRefused) {
  const Bytes packed = gzip(kGood);
  for (const Bytes& whole : {kGood, packed}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      const Bytes prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_NE(error_of([&] { read(prefix); }), "") << size << " of " << whole.size() << " bytes";
    }
  }
}

// Every damaged byte is detected or harmless. The contents have a checksum; a few bits of the format are
// unused (the compressor's time and operating system, the rest of the bit stream's last byte).
TEST_F(Idx, EveryDamagedByteIsRefusedOrHarmless) {
  const Bytes packed = gzip(kGood);
  int refused = 0, harmless = 0;
  for (size_t i = 0; i < packed.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes damaged = packed;
      damaged[i] ^= static_cast<uint8_t>(1 << bit);
      try {
        EXPECT_EQ(read(damaged).values, kValues) << "byte " << i << ", bit " << bit;
        ++harmless;
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 6 * harmless);
}

TEST_F(Idx, MissingFile) {
  path_ = directory_ / "absent";
  EXPECT_EQ(missing(error_of([&] { read_idx(path_); }), {path_, "No such file"}), "");
}

TEST_F(Idx, DirectoryInsteadOfAFile) {
  EXPECT_EQ(missing(error_of([&] { read_idx(directory_.path().string()); }), {"is a folder"}), "");
}

TEST_F(Idx, WebPageSavedAsData) {
  expect_refused(bytes_of("<!DOCTYPE html><html><body>404 Not Found</body></html>"), {"web page"});
  expect_refused(bytes_of("\r\n  <html>"), {"web page"});
  expect_refused(gzip(bytes_of("<?xml version='1.0'?><Error/>")), {"web page"});
}

TEST_F(Idx, ForeignMagic) {
  expect_refused(bytes_of("\x89PNG\r\n"), {"0x89504e47", "0x0000080n"});
  expect_refused({0, 0, 0x0d, 1, 0, 0, 0, 0}, {"0x00000d01", "unsigned bytes"});  // floats
  expect_refused({0, 0, 8, 0}, {"0x00000800"});                                   // no dimensions
}

TEST_F(Idx, TrailingBytes) {
  Bytes longer = kGood;
  longer.push_back(0);
  expect_refused(longer, {"too many bytes", "2 x 3 x 5", "more bytes follow"});
  expect_refused(gzip(longer), {"too many bytes"});
  expect_refused(idx({2}, Bytes(2000)), {"too many bytes"});
  expect_refused(idx({2000}, Bytes(2001)), {"too many bytes"});
  Bytes followed = gzip(kGood);
  followed.push_back('x');
  expect_refused(followed, {"1 byte of something else"});
}

TEST_F(Idx, SaysHowMuchIsMissing) {
  expect_refused(idx({2, 3, 6}, kValues), {"cut off", "2 x 3 x 6", "only 30 bytes"});
  expect_refused({0, 0, 8, 3, 0, 0, 0, 2, 0, 0}, {"ends inside its header", "10 bytes", "at least 16"});
  expect_refused({0, 0, 8}, {"3 bytes, too few"});
  Bytes packed = gzip(kGood);
  packed.resize(packed.size() - 1);
  expect_refused(packed, {"cut off", "gzip"});
}

// Sizes whose product exceeds 32 or 64 bits must not wrap around to a valid size.
TEST_F(Idx, HugeSizes) {
  expect_refused(idx({0x80000000u, 28, 28}, kValues), {"2147483648 x 28 x 28", "only 30 bytes"});
  expect_refused(idx({0x80000000u, 2}, {}), {"cut off"});
  expect_refused(idx({0x80000000u, 0x80000000u, 4}, {}), {"cut off"});  // 2^64
  expect_refused(idx({0xffffffffu, 0xffffffffu, 0xffffffffu}, kValues), {"cut off"});
}

TEST_F(Idx, WithoutValuesNothingMayFollow) { expect_refused(idx({0, 28}, {1}), {"too many bytes"}); }

}  // namespace
}  // namespace rondo::test
