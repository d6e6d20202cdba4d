// Text from outside: control characters are escaped, printable text is unchanged.
#include <gtest/gtest.h>
#include <rondo/nn/io/printable.h>

namespace rondo {
namespace {

TEST(Printable, KeepsWhatCanBeRead) {
  for (const std::string text : {"", " a ~", "C:\\x1b", "Geräte", "日本", "\xf0\x9f\x98\x80", "\xc2\xa0"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("\x1b[2J\x1b]0;title\a"), "\\x1b[2J\\x1b]0;title\\x07");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(printable(std::string("\0\b\x7f", 3)), "\\x00\\x08\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m")
      << "U+009B begins an escape, too";
  for (int c = 0; c < 256; ++c) {
    const std::string shown = printable(std::string(1, static_cast<char>(c)));
    EXPECT_EQ(shown.size() == 1, c >= 0x20 && c < 0x7f) << c;
    for (const char part : shown) EXPECT_TRUE(part >= ' ' && part <= '~') << c;
  }
}

TEST(Printable, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(printable("\x9b"), "\\x9b");
  EXPECT_EQ(printable("\xc0\xafz"), "\\xc0\\xafz") << "longer than needed";
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut off";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xe2\x1b[m"), "\\xe2\\x1b[m") << "what follows is looked at by itself";
}

TEST(Printable, TwiceIsOnce) {
  for (const std::string text : {"\x1b[m\n", "\xff\\", "ä"})
    EXPECT_EQ(printable(printable(text)), printable(text));
}

TEST(Printable, ExcerptsEndAtACharacter) {
  EXPECT_EQ(excerpt("abc", 3), "abc");
  EXPECT_EQ(excerpt("abcd", 3), "abc...");
  EXPECT_EQ(excerpt("ab\x1b[", 3), "ab\\x1b...");
  EXPECT_EQ(excerpt("abä", 3), "ab...");
  EXPECT_EQ(excerpt("\xff\xff\xff", 2), "\\xff\\xff...");
  EXPECT_EQ(excerpt("", 0), "");
}

}  // namespace
}  // namespace rondo
