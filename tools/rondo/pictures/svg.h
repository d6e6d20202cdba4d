// The pieces of an SVG 1.1 picture: elements with escaped attributes, texts, and the colours that all of Rondo's
// pictures share.
#pragma once

#include <string>
#include <type_traits>

namespace rondo::program::svg {

inline constexpr const char* kInk = "#1f2933";
inline constexpr const char* kSoftInk = "#66737f";
inline constexpr const char* kGrid = "#e6eaee";
inline constexpr const char* kAxis = "#9aa5b1";

// Text may not hold what XML forbids: markup is escaped, control characters become spaces, and bytes that are no UTF-8 become
// U+FFFD.
std::string escaped(const std::string& text);

// A coordinate, to a hundredth, without a tail of zeros.
std::string number(double value);

// attributes("x", 3, "fill", "red") -> ` x="3" fill="red"`
inline std::string attributes() { return ""; }
template <class Value, class... Rest>
std::string attributes(const char* name, const Value& value, const Rest&... rest) {
  std::string text;
  if constexpr (std::is_arithmetic_v<Value>) {
    text = number(value);
  } else {
    text = escaped(value);
  }
  return std::string(" ") + name + "=\"" + text + "\"" + attributes(rest...);
}

template <class... Pairs>
std::string element(const char* name, const Pairs&... pairs) {
  return std::string("<") + name + attributes(pairs...) + "/>\n";
}

template <class... Pairs>
std::string words(double x, double y, const char* anchor, double size, const char* fill,
                  const std::string& content, const Pairs&... pairs) {
  return "<text" +
         attributes("x", x, "y", y, "text-anchor", anchor, "font-size", size, "fill", fill, pairs...) + ">" +
         escaped(content) + "</text>\n";
}

// "#rrggbb" of a hue in degrees, and a saturation and a lightness from 0 to 1.
std::string hue_colour(double hue, double saturation, double lightness);

// The whole document: `content` on a white page, under a title for the browser.
std::string document(const std::string& title, double width, double height, const std::string& content);

}  // namespace rondo::program::svg
