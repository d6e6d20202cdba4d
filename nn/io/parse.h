// Parsing of user input: splitting and numbers.
#pragma once

#include <rondo/kernels/core/text.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rondo {

// The text between the separators, unchanged. Returns one part more than there are separators.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// Returns nullopt unless the whole text is one number that fits the type: no space, no sign +, no unit.
template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace rondo
