// Compares a long text, such as a table of choices, with a file of the repository.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace rondo::test {

// Whether `text` is the contents of the file. The message of a difference has the first line that differs.
// With RONDO_UPDATE=1 in the environment, writes the file instead and succeeds.
inline testing::AssertionResult equals_file(const std::string& text, const std::string& path) {
  if (std::getenv("RONDO_UPDATE") != nullptr) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush()) return testing::AssertionFailure() << path << " can't be written";
    return testing::AssertionSuccess();
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return testing::AssertionFailure() << path << " can't be read";
  const std::string want{std::istreambuf_iterator<char>(file), {}};
  if (text == want) return testing::AssertionSuccess();
  const auto same = std::ranges::mismatch(text, want).in1;
  const auto line_from = [&](const std::string& all) {
    const size_t newline = same == text.begin()
                               ? std::string::npos
                               : all.rfind('\n', static_cast<size_t>(same - text.begin()) - 1);
    const size_t begin = newline == std::string::npos ? 0 : newline + 1;
    return begin < all.size() ? all.substr(begin, all.find('\n', begin) - begin) : "(the end)";
  };
  return testing::AssertionFailure()
         << path << ":" << 1 + std::count(text.begin(), same, '\n') << " is\n  " << line_from(want)
         << "\nand must be\n  " << line_from(text)
         << "\nIf the change is intended, run this program with RONDO_UPDATE=1 in "
            "the environment: it writes the file, and git diff shows the changes.";
}

}  // namespace rondo::test
