#include "tokens.h"

#include <algorithm>
#include <map>
#include <utility>

namespace simt::translate {
namespace {

// The functions of <cctype> follow the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Bytes of UTF-8 count as letters, and so does the backslash of "\\u00f6", which g++ -E writes for them.
bool begins_name(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || c == '_' || c == '$' || c == '\\' || static_cast<unsigned char>(c) >= 0x80;
}
bool in_name(char c) { return begins_name(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\r'; }

class Tokenizer {
 public:
  explicit Tokenizer(Source& source) : source_(source), text_(source.preprocessed) {
    source.files.push_back("\"<source>\"");
  }

  void run() {
    source_.tokens.reserve(text_.size() / 5);
    bool line_begins = true;
    while (at_ < text_.size()) {
      const size_t blanks = at_;
      while (is_blank(peek())) ++at_;
      space_ = text_.substr(blanks, at_ - blanks);
      const char c = peek();
      if (at_ == text_.size()) break;
      if (c == '\n') {
        ++at_;
        ++line_;
        line_begins = true;
      } else if (c == '#' && line_begins) {
        directive();
      } else {
        glued_ = !line_begins && space_.empty();
        line_begins = false;
        token(c);
      }
    }
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void add(Kind kind, size_t end) {
    const std::string_view text = text_.substr(at_, end - at_);
    source_.tokens.push_back({kind, glued_, system_, line_, file_, space_, text});
    for (const char c : text) line_ += c == '\n';  // of a raw string
    at_ = end;
  }

  void token(char c) {
    size_t end = at_ + 1;
    if (begins_name(c)) {
      while (end < text_.size() && in_name(text_[end])) ++end;
      const std::string_view name = text_.substr(at_, end - at_);
      if (end < text_.size() && (text_[end] == '"' || text_[end] == '\'') && is_prefix(name))
        add(Kind::text, name.back() == 'R' ? end_of_raw_string(end) : end_of_string(end));
      else
        add(Kind::identifier, end);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      add(Kind::number, end_of_number());
    } else if (c == '"' || c == '\'') {
      add(Kind::text, end_of_string(at_));
    } else {
      if (text_.compare(at_, 2, "::") == 0) end = at_ + 2;
      if (text_.compare(at_, 3, "...") == 0) end = at_ + 3;
      add(Kind::punctuator, end);
    }
  }

  static bool is_prefix(std::string_view name) {
    for (const std::string_view prefix : {"L", "u", "U", "u8", "R", "LR", "uR", "UR", "u8R"})
      if (name == prefix) return true;
    return false;
  }

  size_t end_of_string(size_t quote) const {
    size_t end = quote + 1;
    while (end < text_.size() && text_[end] != text_[quote] && text_[end] != '\n')
      end += text_[end] == '\\' ? 2 : 1;
    return std::min(end + 1, text_.size());
  }

  size_t end_of_raw_string(size_t quote) const {
    const size_t open = text_.find('(', quote);
    if (open == text_.npos) return text_.size();
    const std::string close = ")" + std::string(text_.substr(quote + 1, open - quote - 1)) + "\"";
    const size_t found = text_.find(close, open);
    return found == text_.npos ? text_.size() : found + close.size();
  }

  size_t end_of_number() const {
    size_t end = at_ + 1;
    while (end < text_.size()) {
      const char c = text_[end];
      const char before = text_[end - 1];
      const bool sign =
          (c == '+' || c == '-') && (before == 'e' || before == 'E' || before == 'p' || before == 'P');
      const bool separator = c == '\'' && end + 1 < text_.size() && in_name(text_[end + 1]);
      if (!in_name(c) && c != '.' && !sign && !separator) break;
      ++end;
    }
    return end;
  }

  // A line marker, "# 12 "file" flags", or a line that the compiler reads.
  void directive() {
    size_t end = text_.find('\n', at_);
    if (end == text_.npos) end = text_.size();
    std::string_view line = text_.substr(at_ + 1, end - at_ - 1);
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    if (line.substr(0, 5) == "line ") line.remove_prefix(5);
    if (line.empty() || !is_digit(line.front())) {
      glued_ = false;
      add(Kind::directive, end);
      return;
    }
    int number = 0;
    while (!line.empty() && is_digit(line.front())) {
      number = number * 10 + (line.front() - '0');
      line.remove_prefix(1);
    }
    const size_t open = line.find('"'), close = line.rfind('"');
    if (open != line.npos && close > open) {
      file_ = index_of(std::string(line.substr(open, close - open + 1)));
      system_ = line.find('3', close) != line.npos;
    }
    line_ = number - 1;  // the end of this line counts
    at_ = end;
  }

  int index_of(const std::string& file) {
    const auto [entry, is_new] = index_.try_emplace(file, static_cast<int>(source_.files.size()));
    if (is_new) source_.files.push_back(file);
    return entry->second;
  }

  Source& source_;
  std::string_view text_;
  std::map<std::string, int> index_;
  size_t at_ = 0;
  int line_ = 1, file_ = 0;
  bool system_ = false, glued_ = false;
  std::string_view space_;
};

}  // namespace

Source::Source(std::string text) : preprocessed(std::move(text)) { Tokenizer(*this).run(); }

}  // namespace simt::translate
