#include <rondo/nn/io/printable.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/pictures/svg.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

namespace rondo::program::svg {
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
