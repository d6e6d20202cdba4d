#include <gtest/gtest.h>
#include <rondo/tools/rondo/support/format.h>

#include <cmath>
#include <limits>

namespace rondo::program {
namespace {

TEST(Format, Grouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(129'068), "129,068");
  EXPECT_EQ(grouped(-999), "-999");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(grouped(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Format, CountsOneInTheSingular) {
  EXPECT_EQ(grouped(1, "step"), "1 step");
  EXPECT_EQ(grouped(0, "step"), "0 steps");
  EXPECT_EQ(grouped(60'000, "step"), "60,000 steps");
}

TEST(Format, Loss) {
  EXPECT_EQ(loss_text(2.302585), "2.3026");
  EXPECT_EQ(loss_text(20487.5), "2.05e+04");
  EXPECT_EQ(loss_text(-20487.5), "-2.05e+04");
  EXPECT_EQ(loss_text(std::nan("")), "nan");
}

TEST(Format, Duration) {
  EXPECT_EQ(duration(0.0012), "1.2 ms");
  EXPECT_EQ(duration(0.060), "60 ms");
  EXPECT_EQ(duration(0.9996), "1.0 s");
  EXPECT_EQ(duration(14.23), "14.2 s");
  EXPECT_EQ(duration(99.96), "1:40");
  EXPECT_EQ(duration(3599.4), "59:59");
  EXPECT_EQ(duration(3599.6), "1:00:00");
  EXPECT_EQ(duration(90061), "25:01:01");
  EXPECT_EQ(duration(std::nan("")), "?");
  EXPECT_EQ(duration(std::numeric_limits<double>::infinity()), "?");
}

TEST(Format, ByteSize) {
  EXPECT_EQ(byte_size(0), "0 bytes");
  EXPECT_EQ(byte_size(1), "1 byte");
  EXPECT_EQ(byte_size(1023), "1023 bytes");
  EXPECT_EQ(byte_size(1024), "1.0 KiB");
  EXPECT_EQ(byte_size((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(byte_size(int64_t{141} << 30), "141.0 GiB");
}

TEST(Format, FixedHoldsTheLargestNumber) {
  EXPECT_EQ(fixed(0.8349, 2), "0.83");
  EXPECT_EQ(fixed(std::numeric_limits<double>::max(), 4).size(), 309u + 5);
}

TEST(Format, PercentOfNothingIsADash) {
  EXPECT_EQ(percent(1, 4), "25 %");
  EXPECT_EQ(percent(0, 0), "-");
  EXPECT_EQ(percent(1, std::nan("")), "-");
}

TEST(Format, PaddingCountsCharacters) {
  EXPECT_EQ(left("ab", 4), "ab  ");
  EXPECT_EQ(right("ab", 4), "  ab");
  EXPECT_EQ(right("é", 3), "  é");
  EXPECT_EQ(left("abcde", 4), "abcde");
}

}  // namespace
}  // namespace rondo::program
