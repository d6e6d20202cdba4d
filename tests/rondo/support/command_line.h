// Parses command lines as a user types them.
#pragma once

#include <gtest/gtest.h>

#include <rondo/tests/rondo/support/files.h>
#include <rondo/tools/rondo/commands.h>

#include <any>
#include <sstream>
#include <string>
#include <vector>

namespace rondo::program {

// Parses {"allreduce", "-b", "8"}, or "allreduce -b 8", split at its spaces; without the program's name.
inline ParsedCommand parse(const std::vector<std::string>& words) {
  std::vector<const char*> pointers = {"rondo"};
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return parse_command_line(static_cast<int>(pointers.size()), pointers.data());
}
inline ParsedCommand parse(const std::string& words) {
  std::vector<std::string> list;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) list.push_back(word);
  return parse(list);
}

// The options of a command, which must be of this type.
template <class Arguments, class Words>
Arguments parse_as(const Words& words) {
  const ParsedCommand command = parse(words);
  return std::any_cast<Arguments>(command.arguments);
}

// The command line is refused, and the message contains all of `parts`.
inline void expect_refused(const std::string& words, const std::vector<std::string>& parts) {
  EXPECT_EQ(test::missing(test::error_of([&] { parse(words); }), parts), "") << words;
}

}  // namespace rondo::program
