#include "writer.h"

#include <algorithm>
#include <utility>

namespace simt::translate {
namespace {

class Writer {
 public:
  explicit Writer(const Source& source) : source_(source) {
    out_.reserve(source.preprocessed.size() * 5 / 4);
  }

  void put(const Token& token, const Edit& edit) {
    if (edit.erased && edit.before.empty() && edit.after.empty()) return;
    go_to(token);
    if (token.kind == Kind::directive && !edit.erased) {
      if (!line_begins_) new_line(token);
      out_ += token.text;
      out_ += '\n';
      ++line_;
      line_begins_ = true;
      return;
    }
    out_ += token.space;
    // What was next to a token that is gone may now be next to another one.
    if (token.glued && last_erased_ && !out_.empty()) out_ += ' ';
    out_ += edit.before;
    if (!edit.erased) {
      out_ += token.text;
      line_ += static_cast<int>(std::count(token.text.begin(), token.text.end(), '\n'));
    }
    out_ += edit.after;
    line_begins_ = false;
  }
  void note_erased(bool erased) { last_erased_ = erased; }
  std::string text() && {
    out_ += '\n';
    return std::move(out_);
  }

 private:
  static constexpr int kMostBlankLines = 8;

  void go_to(const Token& token) {
    const bool same_place = token.file == file_ && token.system == system_;
    if (same_place && token.line >= line_ && token.line <= line_ + kMostBlankLines) {
      if (token.line > line_) line_begins_ = true;
      out_.append(static_cast<size_t>(token.line - line_), '\n');
      line_ = token.line;
    } else {
      new_line(token);
    }
  }

  void new_line(const Token& token) {
    if (!out_.empty() && out_.back() != '\n') out_ += '\n';
    out_ += "# " + std::to_string(token.line) + " " + source_.files[static_cast<size_t>(token.file)];
    if (token.system) out_ += " 3";
    out_ += '\n';
    line_ = token.line;
    file_ = token.file;
    system_ = token.system;
    line_begins_ = true;
  }

  const Source& source_;
  std::string out_;
  int line_ = 0, file_ = -1;
  bool system_ = false, line_begins_ = true, last_erased_ = false;
};

}  // namespace

std::string write(const Source& source, const std::vector<Edit>& edits) {
  Writer writer(source);
  for (size_t i = 0; i < source.tokens.size(); ++i) {
    writer.put(source.tokens[i], edits[i]);
    writer.note_erased(edits[i].erased);
  }
  return std::move(writer).text();
}

}  // namespace simt::translate
