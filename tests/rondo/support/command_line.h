// Parses command lines as a user types them.
#pragma once

#include <gtest/gtest.h>

#include <rondo/tests/rondo/support/files.h>
#include <rondo/tools/rondo/arguments.h>

#include <sstream>
#include <string>
#include <vector>

namespace rondo::program {

// Parses "allreduce -b 8": without the program's name, split at its spaces.
inline CommandLine parse(const std::string& words) {
  std::vector<std::string> list = {"rondo"};
  std::istringstream stream(words);
  for (std::string word; stream >> word;) list.push_back(word);
  std::vector<const char*> pointers;
  for (const std::string& word : list) pointers.push_back(word.c_str());
  return parse_command_line(static_cast<int>(pointers.size()), pointers.data());
}

// The command line is refused, and the message contains all of `parts`.
inline void expect_refused(const std::string& words, const std::vector<std::string>& parts) {
  EXPECT_EQ(test::missing(test::error_of([&] { parse(words); }), parts), "") << words;
}

}  // namespace rondo::program
