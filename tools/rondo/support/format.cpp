#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/support/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace rondo::program {
namespace {

std::string padding(const std::string& text, size_t width) {
  const auto continues_character = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  const size_t characters = text.size() - std::count_if(text.begin(), text.end(), continues_character);
  return std::string(width > characters ? width - characters : 0, ' ');
}

}  // namespace

std::string formatted(const char* format, double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string fixed(double value, int digits) {
  std::array<char, 400> text;  // the largest double has 309 digits before the point
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string loss_text(double loss) {
  return loss < 1000 ? fixed(loss, 4) : formatted("%.2e", loss);  // NaN stays nan
}

std::string grouped(int64_t value) {
  std::string text = std::to_string(value);
  const std::ptrdiff_t sign = value < 0 ? 1 : 0;
  for (auto end = static_cast<std::ptrdiff_t>(text.size()) - 3; end > sign; end -= 3)
    text.insert(static_cast<size_t>(end), 1, ',');
  return text;
}

std::string duration(double seconds) {
  if (!(seconds < 1e9)) return "?";  // NaN too
  if (seconds < 0.9995) return fixed(seconds * 1e3, seconds < 0.00995 ? 1 : 0) + " ms";
  if (seconds < 99.95) return fixed(seconds, 1) + " s";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  std::array<char, 40> text;
  if (whole < 3600) {
    std::snprintf(text.data(), text.size(), "%d:%02d", static_cast<int>(whole / 60),
                  static_cast<int>(whole % 60));
  } else {
    std::snprintf(text.data(), text.size(), "%lld:%02d:%02d", static_cast<long long>(whole / 3600),
                  static_cast<int>(whole / 60 % 60), static_cast<int>(whole % 60));
  }
  return text.data();
}

std::string byte_size(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
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
