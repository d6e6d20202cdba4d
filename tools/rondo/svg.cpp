#include <rondo/tools/rondo/format.h>
#include <rondo/tools/rondo/svg.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace rondo::program::svg {
namespace {

// Bytes of the character that `text` begins with; 0 where that is none that XML allows. See RFC 3629.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool longer_than_needed = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second >= 0xA0, beyond = first == 0xF4 && second >= 0x90;
  const bool no_character = first == 0xEF && second == 0xBF && byte(2) >= 0xBE;
  return longer_than_needed || surrogate || beyond || no_character ? 0 : length;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string result;
  for (size_t at = 0, length; at < text.size(); at += std::max<size_t>(length, 1)) {
    length = utf8_length(std::string_view(text).substr(at));
    const char c = text[at];
    if (length != 1) {
      result += length == 0 ? "\xEF\xBF\xBD" : text.substr(at, length);
      continue;
    }
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

std::string number(double value) {
  std::string text = fixed(value, 2);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string hue_colour(double hue, double saturation, double lightness) {
  const auto channel = [&](double offset) {
    const double k = std::fmod(offset + hue / 30, 12);
    const double reach = saturation * std::min(lightness, 1 - lightness);
    return static_cast<int>(
        std::lround(255 * (lightness - reach * std::clamp(std::min(k - 3, 9 - k), -1.0, 1.0))));
  };
  std::array<char, 8> text;
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", channel(0), channel(8), channel(4));
  return text.data();
}

std::string document(const std::string& title, double width, double height, const std::string& content) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"" +
         attributes("width", width, "height", height, "viewBox",
                    "0 0 " + number(width) + " " + number(height), "font-family",
                    "Inter, 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif") +
         ">\n<title>" + escaped(title) + "</title>\n" +
         element("rect", "width", width, "height", height, "fill", "#ffffff") + content + "</svg>\n";
}

}  // namespace rondo::program::svg
