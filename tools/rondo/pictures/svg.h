// Building blocks of SVG 1.1 pictures: elements with escaped attributes, texts, and the common colours.
#pragma once

#include <string>
#include <type_traits>

namespace rondo::program::svg {

inline constexpr const char* kInk = "#1f2933";
inline constexpr const char* kSoftInk = "#66737f";
inline constexpr const char* kGrid = "#e6eaee";
inline constexpr const char* kAxis = "#9aa5b1";

// Escapes text for XML: markup is escaped, control characters become spaces, invalid UTF-8 bytes become
// U+FFFD.
std::string escaped(const std::string& text);

// A coordinate with at most two decimals, without trailing zeros.
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

// The "#rrggbb" colour of a hue in degrees and of a saturation and lightness from 0 to 1.
std::string hue_colour(double hue, double saturation, double lightness);

// The complete document: `content` on a white page, with a title for the browser.
std::string document(const std::string& title, double width, double height, const std::string& content);

}  // namespace rondo::program::svg
