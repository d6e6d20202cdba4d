// Capabilities of the standard output.
#pragma once

#include <string>

namespace rondo::program {

struct Terminal {
  bool interactive = false;  // a terminal: lines may be redrawn in place
  bool colour = false;
  bool unicode = false;
  int width = 80;
};

// Queries the standard output and the environment: NO_COLOR (no-color.org), TERM, LC_ALL, LC_CTYPE, LANG.
Terminal ask_terminal();

enum class Ink { plain, dim, bold, accent, good };

// `text` in a colour if the terminal supports colours, else unchanged.
std::string inked(const Terminal& terminal, Ink ink, const std::string& text);

}  // namespace rondo::program
