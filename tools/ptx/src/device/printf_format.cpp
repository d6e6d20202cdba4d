#include "printf_format.h"

#include <bit>
#include <cstdio>
#include <string_view>
#include <vector>

#include "fault.h"

namespace ptx {
namespace {

// One conversion, with any C argument.
template <class Value>
std::string formatted(const std::string& conversion, Value value) {
  const int size = std::snprintf(nullptr, 0, conversion.c_str(), value);
  if (size < 0) return {};
  std::vector<char> text(static_cast<size_t>(size) + 1);
  std::snprintf(text.data(), text.size(), conversion.c_str(), value);
  return std::string(text.data(), static_cast<size_t>(size));
}

bool one_of(char c, std::string_view set) { return set.find(c) != set.npos; }

}  // namespace

std::string format_text(const std::string& format, const std::function<uint64_t(uint32_t)>& next,
                        const std::function<std::string(uint64_t)>& text_at) {
  std::string text;
  for (size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      text += format[at];
      continue;
    }
    std::string conversion = "%";
    bool is_long = false;
    for (++at; at < format.size() && one_of(format[at], "0123456789.+- #*hlzjt"); ++at) {
      if (format[at] == '*') {
        append(conversion, static_cast<int>(next(4)));
      } else if (one_of(format[at], "lzjt")) {
        is_long = true;
      } else if (format[at] != 'h') {
        conversion += format[at];
      }
    }
    if (at >= format.size()) break;
    const char kind = format[at];
    if (kind == '%') {
      text += '%';
    } else if (one_of(kind, "fFeEgGaA")) {
      text += formatted(conversion + kind, std::bit_cast<double>(next(8)));
    } else if (kind == 's') {
      text += formatted(conversion + kind, text_at(next(8)).c_str());
    } else if (kind == 'p') {
      text += formatted(conversion + kind, reinterpret_cast<void*>(next(8)));
    } else if (kind == 'c') {
      text += formatted(conversion + kind, static_cast<int>(next(4)));
    } else if (one_of(kind, "diuoxX")) {
      text += is_long ? formatted(conversion + "ll" + kind, static_cast<long long>(next(8)))
                      : formatted(conversion + kind, static_cast<int>(next(4)));
    } else {
      text += conversion + kind;
    }
  }
  return text;
}

}  // namespace ptx
