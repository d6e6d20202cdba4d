#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/support/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rondo::program {
namespace {

// 2 digits, as in 2:05.
std::string two_digits(int64_t value) { return (value < 10 ? "0" : "") + exact_text(value); }

std::string padding(const std::string& text, size_t width) {
  const auto continues_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  const size_t characters = text.size() - std::count_if(text.begin(), text.end(), continues_character);
  return std::string(width > characters ? width - characters : 0, ' ');
}

}  // namespace

std::string fixed(double value, int digits) { return rounded_text(value, std::chars_format::fixed, digits); }

std::string scientific(double value, int digits) {
  return rounded_text(value, std::chars_format::scientific, digits);
}

std::string general(double value, int digits) {
  return rounded_text(value, std::chars_format::general, digits);
}

std::string loss_text(double loss) {
  return std::abs(loss) >= 1000 ? scientific(loss, 2) : fixed(loss, 4);  // NaN stays nan
}

std::string grouped(int64_t value) {
  std::string text = exact_text(value);
  const std::ptrdiff_t sign = value < 0 ? 1 : 0;
  for (auto end = static_cast<std::ptrdiff_t>(text.size()) - 3; end > sign; end -= 3)
    text.insert(static_cast<size_t>(end), 1, ',');
  return text;
}

std::string grouped(int64_t value, const char* one) {
  return grouped(value) + " " + one + (value == 1 ? "" : "s");
}

std::string duration(double seconds) {
  if (!(seconds < 1e9)) return "?";  // NaN too
  if (seconds < 0.9995) return fixed(seconds * 1e3, seconds < 0.00995 ? 1 : 0) + " ms";
  if (seconds < 99.95) return fixed(seconds, 1) + " s";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const std::string minutes =
      whole < 3600 ? exact_text(whole / 60) : exact_text(whole / 3600) + ":" + two_digits(whole / 60 % 60);
  return minutes + ":" + two_digits(whole % 60);
}

std::string byte_size(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  if (bytes == 1) return "1 byte";
  return fixed(value, unit == 0 ? 0 : 1) + " " + kUnits[unit];
}

std::string percent(double part, double whole) {
  return whole > 0 ? fixed(100 * part / whole, 0) + " %" : "-";
}

std::string left(const std::string& text, size_t width) { return text + padding(text, width); }
std::string right(const std::string& text, size_t width) { return padding(text, width) + text; }

std::string device_list(const std::vector<int>& devices) {
  std::string text;
  for (int device : devices) text += (text.empty() ? "" : ", ") + device_label(device);
  return "[" + text + "]";
}

}  // namespace rondo::program
