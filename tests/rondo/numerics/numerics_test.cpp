#include <gtest/gtest.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tools/rondo/numerics/numerics.h>

#include <sstream>
#include <string>

namespace rondo::program {
namespace {

// The table that follows `title` and an empty line, up to the next empty line or the end.
std::string table_after(const std::string& text, const std::string& title, const std::string& end) {
  const size_t at = text.find(title);
  if (at == std::string::npos) return "no '" + title + "'";
  const size_t begin = text.find("\n\n", at) + 2;
  return text.substr(begin, text.find(end, begin) - begin);
}

TEST(Numerics, TheDocumentationShowsTheOutput) {
  if (std::string(platform()) != "cpu") GTEST_SKIP() << "the documentation has the errors of the executor";
#if !defined(__FP_FAST_FMA) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "without fused multiply-adds, which the sanitizer prevents, fp32 has other errors";
#endif
  std::ostringstream output;
  show_numerics({}, output);
  const std::string page = test::read_text(SOURCE_DIR "/docs/numerics.md");
  const auto documented = [&](const std::string& before) {
    const std::string block = table_after(page, before, "\n```\n\n") + "\n";
    return block.starts_with("```\n") ? block.substr(4) : "no table: " + block;
  };
  EXPECT_EQ(documented("Root mean square and largest value of 96 x 96 results:"),
            table_after(output.str(), "Errors of 96 x 96 results", "\nSpecial values"));
  EXPECT_EQ(documented("sums of values at the ends of the range:"),
            table_after(output.str(), "\nSpecial values", "\n\n"));
}

}  // namespace
}  // namespace rondo::program
