#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/pictures/svg.h>
#include <rondo/tools/rondo/profile/roofline_svg.h>
#include <rondo/tools/rondo/support/format.h>

#include <algorithm>
#include <cmath>

namespace rondo::program {
namespace {

constexpr double kWidth = 900, kHeight = 560;
constexpr double kLeft = 90, kRight = 260, kTop = 80, kBottom = 70, kLegendLine = 18;
constexpr const char* kColours[] = {"#2a6fdb", "#2f9e63", "#e4572e", "#8e4ec6",
                                    "#c9a227", "#0b7285", "#a61e4d"};

// A range of whole decades that contains all values.
struct Decades {
  int low = 0, high = 1;
  double begin, length;  // of the axis, in pixels

  double at(double value) const { return begin + length * (std::log10(value) - low) / (high - low); }
};

Decades decades_of(double least, double most, double begin, double length) {
  const int low = static_cast<int>(std::floor(std::log10(least)));
  return {low, std::max(static_cast<int>(std::ceil(std::log10(most))), low + 1), begin, length};
}

std::string rate_text(double rate) {
  constexpr std::pair<double, const char*> kUnits[] = {
      {1e12, " TFLOP/s"}, {1e9, " GFLOP/s"}, {1e6, " MFLOP/s"}};
  for (const auto& [unit, name] : kUnits)
    if (rate >= 0.999 * unit) return general(rate / unit, 3) + name;
  return general(rate, 3) + " FLOP/s";
}

}  // namespace

std::string roofline_svg(const Roofline& roofline) {
  double least_x = 0.1, most_x = 100, least_y = roofline.peak / 1000, most_y = roofline.peak * 1.5;
  for (const RooflinePoint& point : roofline.points) {
    least_x = std::min(least_x, point.intensity), most_x = std::max(most_x, point.intensity);
    least_y = std::min(least_y, point.rate), most_y = std::max(most_y, point.rate);
  }
  const Decades x = decades_of(least_x, most_x, kLeft, kWidth - kLeft - kRight);
  const Decades y = decades_of(least_y, most_y, kHeight - kBottom, -(kHeight - kTop - kBottom));
  const double right = kWidth - kRight, bottom = kHeight - kBottom;

  std::string content = svg::words(kLeft, 32, "start", 18, svg::kInk, roofline.title) +
                        svg::words(kLeft, 54, "start", 12, svg::kSoftInk, roofline.subtitle);
  for (int decade = x.low; decade <= x.high; ++decade) {
    const double at = x.at(std::pow(10.0, decade));
    content += svg::element("line", "x1", at, "y1", kTop, "x2", at, "y2", bottom, "stroke", svg::kGrid);
    content += svg::words(at, bottom + 18, "middle", 11, svg::kSoftInk, general(std::pow(10.0, decade), 6));
  }
  for (int decade = y.low; decade <= y.high; ++decade) {
    const double at = y.at(std::pow(10.0, decade));
    content += svg::element("line", "x1", kLeft, "y1", at, "x2", right, "y2", at, "stroke", svg::kGrid);
    content += svg::words(kLeft - 8, at + 4, "end", 11, svg::kSoftInk, rate_text(std::pow(10.0, decade)));
  }
  content += svg::words((kLeft + right) / 2, kHeight - 24, "middle", 12, svg::kSoftInk,
                        "arithmetic intensity: FLOP per byte of global memory");

  const double low = std::pow(10.0, x.low), high = std::pow(10.0, x.high);
  const double floor = std::pow(10.0, y.low);
  for (const RooflineCeiling& ceiling : roofline.ceilings) {
    const double begin = std::max(low, floor / ceiling.bytes_per_second);
    const double ridge = std::min(roofline.peak / ceiling.bytes_per_second, high);
    if (ridge <= begin) continue;
    content += svg::element("line", "x1", x.at(begin), "y1", y.at(begin * ceiling.bytes_per_second), "x2",
                            x.at(ridge), "y2", y.at(ridge * ceiling.bytes_per_second), "stroke", svg::kAxis,
                            "stroke-width", 2);
    const double label = begin * std::pow(ridge / begin, 0.35);
    content += svg::words(x.at(label) - 6, y.at(label * ceiling.bytes_per_second) - 6, "end", 11, svg::kInk,
                          ceiling.name);
  }
  content += svg::element("line", "x1", kLeft, "y1", y.at(roofline.peak), "x2", right, "y2",
                          y.at(roofline.peak), "stroke", svg::kAxis, "stroke-width", 2);
  content += svg::words(right, y.at(roofline.peak) - 6, "end", 11, svg::kInk, roofline.peak_name);

  for (size_t i = 0; i < roofline.points.size(); ++i) {
    const RooflinePoint& point = roofline.points[i];
    const char* const colour = kColours[i % std::size(kColours)];
    content +=
        svg::element("circle", "cx", x.at(point.intensity), "cy", y.at(point.rate), "r", 5, "fill", colour);
    const std::string number = exact_text(i + 1);
    content += svg::words(x.at(point.intensity) + 7, y.at(point.rate) + 3, "start", 9, svg::kInk, number);
    const double line = kTop + 10 + kLegendLine * static_cast<double>(i);
    content += svg::element("circle", "cx", right + 20, "cy", line - 4, "r", 5, "fill", colour);
    content += svg::words(right + 32, line, "start", 11, svg::kInk, number + "  " + point.name);
  }
  const double legend = kTop + kLegendLine * static_cast<double>(roofline.points.size() + 1);
  return svg::document(roofline.title, kWidth, std::max(kHeight, legend), content);
}

}  // namespace rondo::program
