// CLocale: the locale "C" for the C functions of one thread.
#pragma once

#include <locale.h>

namespace rondo {

// While it lives, strtod(), printf() and localeconv() of this thread follow the locale "C", whatever
// setlocale() has set. For libraries that call them: nlohmann-json reads a number with a decimal point by
// strtod(), and gets it wrong where the locale's point has more than one byte.
class CLocale {
 public:
  CLocale() : previous_(uselocale(classic())) {}
  ~CLocale() { uselocale(previous_); }
  CLocale(const CLocale&) = delete;
  CLocale& operator=(const CLocale&) = delete;

 private:
  static locale_t classic() {
    static const locale_t locale = newlocale(LC_ALL_MASK, "C", locale_t{});
    return locale;
  }
  const locale_t previous_;
};

}  // namespace rondo
