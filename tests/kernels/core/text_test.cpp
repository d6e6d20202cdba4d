// Text is the same in every locale, and as printf() writes it in "C".
#include <gtest/gtest.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/tests/support/marked_locale.h>

#include <cstdio>
#include <limits>

namespace rondo::test {
namespace {

std::string printed(const char* format, int digits, double value) {
  char text[400];
  std::snprintf(text, sizeof(text), format, digits, value);
  return text;
}

TEST(Text, RoundsLikePrintf) {
  for (const double value : {0.0, -0.0, 0.5, 2.5, 1.005, 1234567.891, -1e-7, 6.02e23, 1e300, 0x1p-1074,
                             std::numeric_limits<double>::max(), std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()})
    for (const int digits : {0, 1, 3, 9, 64}) {
      EXPECT_EQ(rounded_text(value, std::chars_format::fixed, digits), printed("%.*f", digits, value));
      EXPECT_EQ(rounded_text(value, std::chars_format::scientific, digits), printed("%.*e", digits, value));
      EXPECT_EQ(rounded_text(value, std::chars_format::general, digits), printed("%.*g", digits, value));
    }
}

TEST(Text, NoLocaleChangesIt) {
  const void* const address = reinterpret_cast<const void*>(0x12345678);
  const auto all = [&] {
    TextStream stream;
    stream << 1234567 << " " << 1234.5f << " " << address;
    return concat(-1234567, " ", size_t{1} << 40, " ", 0.25, " ", 1234.5, " ", 1e30, " ", address, " ",
                  stream.str(), " ", exact_text(1234.5), " ", exact_text(int64_t{-1} << 40), " ",
                  rounded_text(1234.5, std::chars_format::fixed, 2), " ",
                  rounded_text(1234.5, std::chars_format::scientific, 2), " ",
                  rounded_text(0.5, std::chars_format::general, 2));
  };
  const std::string before = all();
  const MarkedLocale locale;
  EXPECT_EQ(all(), before);
  EXPECT_EQ(bad_argument("the size is ", 4096).message(), "the size is 4096");
}

}  // namespace
}  // namespace rondo::test
