// The text of reports. The program may have set a locale that groups digits or has another decimal point, by
// std::locale::global() or setlocale().
#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace simt {

// A std::ostringstream of the classic locale.
class TextStream : public std::ostringstream {
 public:
  TextStream() { imbue(std::locale::classic()); }
};

template <class... Parts>
std::string joined(const Parts&... parts) {
  TextStream text;
  (text << ... << parts);
  return text.str();
}

// "1 byte", "2 bytes"
template <class Integer>
std::string counted(Integer count, const char* one) {
  return joined(+count, " ", one, count == 1 ? "" : "s");  // +: a byte is a number, too
}

}  // namespace simt
