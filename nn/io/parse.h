// Parsing of user input: splitting and numbers.
#pragma once

#include <charconv>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rondo {

// The shortest text that parses to the same bits.
template <class Number>
std::string exact_text(Number value) {
  char text[64];
  return {text, std::to_chars(text, std::end(text), value).ptr};
}

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
