// Linked with main.cpp of the program, this sets a locale before main() does anything, as a library that the
// program loads could do.
#include <rondo/tests/support/marked_locale.h>

#include <iostream>

namespace {

struct Setter {
  Setter() {
    std::cout.imbue(std::locale());
    std::cerr.imbue(std::locale());
  }
  const rondo::test::MarkedLocale locale;
};
const Setter setter;

}  // namespace
