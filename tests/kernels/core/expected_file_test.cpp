#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <rondo/tests/support/expected_file.h>

#include <cstdio>

namespace rondo::test {
namespace {

class ExpectedFile : public testing::Test {
 protected:
  void SetUp() override { write("first\nsecond\nthird\n"); }
  void TearDown() override { std::remove(path_.c_str()); }
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string message(const std::string& text) const { return equals_file(text, path_).message(); }

  const std::string path_ = testing::TempDir() + "rondo_expected_file_" + std::to_string(getpid());
};

TEST_F(ExpectedFile, TheSameTextIsEqual) { EXPECT_TRUE(equals_file("first\nsecond\nthird\n", path_)); }

TEST_F(ExpectedFile, ADifferenceNamesTheLine) {
  EXPECT_EQ(message("first\nsecant\nthird\n").find(path_ + ":2 is\n  second\nand must be\n  secant\n"), 0u);
  EXPECT_EQ(message("first\nsecond\n").find(path_ + ":3 is\n  third\nand must be\n  (the end)\n"), 0u);
  EXPECT_EQ(message("first\nsecond\nthird\nfourth\n").find(path_ + ":4 is\n  (the end)\nand must be\n"), 0u);
  EXPECT_EQ(message("").find(path_ + ":1 is\n  first\nand must be\n  (the end)\n"), 0u);
  EXPECT_FALSE(equals_file("", path_ + "_absent"));
}

TEST_F(ExpectedFile, AnUpdateWritesTheFile) {
  setenv("RONDO_UPDATE", "1", 1);
  EXPECT_TRUE(equals_file("new\n", path_));
  unsetenv("RONDO_UPDATE");
  EXPECT_TRUE(equals_file("new\n", path_));
}

}  // namespace
}  // namespace rondo::test
