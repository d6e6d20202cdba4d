// TextStream: the text of reports. The program may have set a locale that groups digits or has another
// decimal point, by std::locale::global() or setlocale().
#pragma once

#include <locale>
#include <sstream>

namespace simt {

// A std::ostringstream of the classic locale.
class TextStream : public std::ostringstream {
 public:
  TextStream() { imbue(std::locale::classic()); }
};

}  // namespace simt
