#include <rondo/nn/io/printable.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace rondo {
namespace {

bool controls(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  return byte(0) == 0xC2 && byte(1) < 0xA0;  // U+0080 to U+009F
}

std::string escape(char c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  if (c == '\r') return "\\r";
  std::array<char, 8> text;
  std::snprintf(text.data(), text.size(), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
  return text.data();
}

}  // namespace

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool longer_than_needed = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second >= 0xA0, beyond = first == 0xF4 && second >= 0x90;
  const bool no_character = first == 0xEF && second == 0xBF && byte(2) >= 0xBE;
  return longer_than_needed || surrogate || beyond || no_character ? 0 : length;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = std::max(utf8_length(text), size_t{1});
    const std::string_view character = text.substr(0, length);
    if (utf8_length(text) == 0 || controls(character))
      for (const char c : character) result += escape(c);
    else
      result += character;
    text.remove_prefix(length);
  }
  return result;
}

std::string excerpt(std::string_view text, size_t most) {
  if (text.size() <= most) return printable(text);
  size_t end = 0;
  for (size_t next = 0; next <= most; next = end + std::max(utf8_length(text.substr(end)), size_t{1}))
    end = next;
  return printable(text.substr(0, end)) + "...";
}

}  // namespace rondo
