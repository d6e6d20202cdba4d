#include "lexer.h"

#include <bit>
#include <charconv>

namespace ptx {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view first_word(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && is_word(text[end])) ++end;
  return text.substr(0, end);
}

std::string_view first_directive(std::string_view text) {
  const std::string_view word = first_word(text);
  return word.starts_with('.') ? word.substr(0, word.find('.', 1)) : word;
}

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (c != ',' || depth != 0) continue;
    parts.push_back(trim(text.substr(start, at - start)));
    start = at + 1;
  }
  const std::string_view last = trim(text.substr(start));
  if (!last.empty()) parts.push_back(last);
  return parts;
}

std::vector<std::string_view> elements_of(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && (text.front() == '{' || text.front() == '('))
    return split_list(text.substr(1, text.size() - 2));
  return {text};
}

std::vector<std::string_view> split_opcode(std::string_view opcode) {
  std::vector<std::string_view> parts;
  for (size_t start = 0; start <= opcode.size();) {
    const size_t dot = std::min(opcode.find('.', start), opcode.size());
    parts.push_back(opcode.substr(start, dot - start));
    start = dot + 1;
  }
  return parts;
}

namespace {

bool parse_integer(std::string_view text, int base, uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

bool parse_number(std::string_view text, int bytes, uint64_t* value) {
  const bool negative = text.starts_with('-');
  if (negative) text = trim(text.substr(1));
  if (text.empty() || !is_digit(text[0])) return false;
  const char kind = text.size() > 1 && text[0] == '0' ? text[1] : ' ';
  if (text.size() == 10 && (kind == 'f' || kind == 'F')) {
    if (!parse_integer(text.substr(2), 16, value)) return false;
    if (negative) *value ^= 0x80000000u;
    if (bytes == 8)
      *value = std::bit_cast<uint64_t>(double{std::bit_cast<float>(static_cast<uint32_t>(*value))});
    return true;
  }
  if (text.size() == 18 && (kind == 'd' || kind == 'D')) {
    if (!parse_integer(text.substr(2), 16, value)) return false;
    if (negative) *value ^= uint64_t{1} << 63;
    return true;
  }
  if (text.back() == 'U') text.remove_suffix(1);
  int base = 10;
  if (kind == 'x' || kind == 'X') base = 16;
  if (kind == 'b' || kind == 'B') base = 2;
  if (base != 10) {
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  if (!parse_integer(text, base, value)) return false;
  if (negative) *value = 0 - *value;
  return true;
}

bool take_number(std::string_view& text, int* value) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

void blank_comments(std::string& text) {
  bool in_string = false;
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    if (text[at] == '"') in_string = !in_string;
    if (in_string || text[at] != '/') continue;
    const bool line = text[at + 1] == '/';
    if (!line && text[at + 1] != '*') continue;
    const size_t found = line ? text.find('\n', at) : text.find("*/", at + 2);
    const size_t end = found == std::string::npos ? text.size() : line ? found : found + 2;
    for (; at < end; ++at)
      if (text[at] != '\n') text[at] = ' ';
    --at;
  }
}

size_t end_of_braces(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return at + 1;
  }
  return text.size();
}

}  // namespace ptx
