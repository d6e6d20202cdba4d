// docs/operators.md, the index of operators: it has a row for each, with a link to its header.
#include <gtest/gtest.h>

#include <rondo/tests/kernels/declared_operations.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace rondo::test {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(OperatorIndex, HasEveryOperatorWithItsHeader) {
  const std::filesystem::path kernels = RONDO_KERNELS_FOLDER;
  const std::string index = text_of(kernels.parent_path() / "docs/operators.md");
  const std::regex link(R"(\[`(\w+)\(\)`\]\(\.\./kernels/([\w/]+\.h)\))");
  std::set<std::string> listed;
  for (std::sregex_iterator match(index.begin(), index.end(), link), end; match != end; ++match) {
    const std::string name = (*match)[1];
    EXPECT_TRUE(listed.insert(name).second) << name << " is listed twice";
    EXPECT_TRUE(std::regex_search(text_of(kernels / std::string((*match)[2])),
                                  std::regex(R"(\bStatus\s+)" + name + R"(\s*\()")))
        << (*match)[2] << " does not declare " << name;
  }
  std::set<std::string> operators = declared_operations();
  const std::regex rung(R"(gemm_(tc_)?\d\d_\w+)");
  std::erase_if(operators, [&](const std::string& name) { return std::regex_match(name, rung); });
  EXPECT_EQ(listed, operators);
}

}  // namespace
}  // namespace rondo::test
