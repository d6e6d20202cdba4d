// What the standard output can show.
#pragma once

#include <string>

namespace rondo::program {

struct Terminal {
  bool interactive = false;  // a person looks on: lines may be redrawn in place
  bool colour = false;
  bool unicode = false;
  int width = 80;
};

// Asks the standard output and the environment: NO_COLOR (no-color.org), TERM, LC_ALL, LC_CTYPE, LANG.
Terminal ask_terminal();

enum class Ink { plain, dim, bold, accent, good };

// `text` in a colour, where the terminal has colours.
std::string inked(const Terminal& terminal, Ink ink, const std::string& text);

}  // namespace rondo::program
