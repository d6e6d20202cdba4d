#include "late.h"

#include <simt/settings.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace ptx {
namespace {

std::optional<Lateness> from_environment() {
  const char* const text = std::getenv("PTX_LATE");
  if (!text || !*text) return {};
  Lateness late;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    if (word == "copies") {
      late.copies = true;
    } else if (word == "bulk") {
      late.bulk = true;
    } else if (word == "products") {
      late.products = true;
    } else if (word != "none") {
      std::fprintf(stderr, "ptx: PTX_LATE=%s is not a list of copies, bulk, products, or none\n", text);
      std::fflush(nullptr);
      std::_Exit(2);
    }
  }
  return late;
}

}  // namespace

Lateness lateness() {
  static const std::optional<Lateness> given = from_environment();
  const bool all = simt::settings().late_copies;
  return given.value_or(Lateness{all, all, all});
}

}  // namespace ptx
