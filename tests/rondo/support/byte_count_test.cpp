#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tools/rondo/support/byte_count.h>

namespace rondo::program {
namespace {

using test::error_of;
using test::missing;

int64_t bytes_of(const std::string& text) { return parse_byte_count("--bytes", text, 0); }

TEST(ByteCount, Units) {
  EXPECT_EQ(bytes_of("0"), 0);
  EXPECT_EQ(bytes_of("1000"), 1000);
  EXPECT_EQ(bytes_of("7B"), 7);
  EXPECT_EQ(bytes_of("3kB"), 3000);
  EXPECT_EQ(bytes_of("25MB"), 25'000'000);
  EXPECT_EQ(bytes_of("2GB"), 2'000'000'000);
  EXPECT_EQ(bytes_of("3KiB"), 3072);
  EXPECT_EQ(bytes_of("16MiB"), 16 << 20);
  EXPECT_EQ(bytes_of("4GiB"), int64_t{4} << 30);
  EXPECT_EQ(bytes_of("1024TiB"), kMostBytes);
}

TEST(ByteCount, BadOnes) {
  for (const std::string bad :
       {"", "B", "-1", "1.5MB", "1 MB", "5XB", "mb", "1mb", "1e9", "1025TiB", "9223372036854775807GB",
        "18014398509481985KiB", "99999999999999999999", "nan", "0x10", "+5"}) {
    EXPECT_EQ(missing(error_of([&] { bytes_of(bad); }), {"--bytes", "'" + bad + "'", "must be", "25MB"}), "");
  }
  EXPECT_EQ(missing(error_of([] { parse_byte_count("--size", "0", 1); }), {"--size", "'0'", "from 1 to"}),
            "");
}

TEST(ByteCount, TextIsExact) {
  EXPECT_EQ(byte_count_text(0), "0 bytes");
  EXPECT_EQ(byte_count_text(1), "1 byte");
  EXPECT_EQ(byte_count_text(1001), "1,001 bytes");
  EXPECT_EQ(byte_count_text(25'000'000), "25 MB");
  EXPECT_EQ(byte_count_text(1'000'000'000), "1 GB");
  EXPECT_EQ(byte_count_text(16 << 20), "16 MiB");
  EXPECT_EQ(byte_count_text(3 << 10), "3 KiB");
  EXPECT_EQ(byte_count_text(int64_t{1} << 40), "1 TiB");
}

}  // namespace
}  // namespace rondo::program
