// The tokens of a preprocessed C++ source, with the file and line of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simt::translate {

enum class Kind : uint8_t {
  identifier,  // or a keyword
  number,
  text,        // a string or a character, with its prefix
  punctuator,  // "::", "...", or one character: ">>" is two tokens, the second of which is glued
  directive    // a whole line such as "#pragma unroll"
};

struct Token {
  Kind kind = Kind::punctuator;
  bool glued = false;   // nothing is between it and the token before
  bool system = false;  // of a system header
  int line = 0;
  int file = 0;            // index of Source::files
  std::string_view space;  // the blanks before it on its line
  std::string_view text;

  bool is(std::string_view what) const { return text == what && kind != Kind::text; }
};

// `text` is the output of g++ -E or clang++ -E, with its line markers.
struct Source {
  explicit Source(std::string text);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string preprocessed;  // what the tokens refer to
  std::vector<std::string> files;  // as the line markers spell them: quoted, with escapes
  std::vector<Token> tokens;
};

}  // namespace simt::translate
