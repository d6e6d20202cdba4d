// Numbers as text, the same in every locale. std::locale::global() and setlocale() can group digits and
// replace the decimal point; files, options and messages must not change with them. All text is made by
// concat() (status.h) or by these. tests/structure refuses the standard functions that follow a locale.
#pragma once

#include <charconv>
#include <iterator>
#include <locale>
#include <sstream>
#include <string>

namespace rondo {

// A std::ostringstream of the classic locale.
class TextStream : public std::ostringstream {
 public:
  TextStream() { imbue(std::locale::classic()); }
};

// The shortest text that parses to the same value: "12345", "0.1".
template <class Number>
std::string exact_text(Number value) {
  char text[64];
  return {text, std::to_chars(text, std::end(text), value).ptr};
}

// printf's %.*f, %.*e or %.*g with the format fixed, scientific or general: "0.83" for 2 digits. At most 64
// digits.
inline std::string rounded_text(double value, std::chars_format format, int digits) {
  char text[400];  // the largest double has 309 digits before the point
  return {text, std::to_chars(text, std::end(text), value, format, digits).ptr};
}

}  // namespace rondo
