#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/pictures/loglog_svg.h>
#include <rondo/tools/rondo/pictures/svg.h>
#include <rondo/tools/rondo/support/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondo::program {
namespace {

using namespace svg;

constexpr double kPanelWidth = 400, kPanelHeight = 330, kColumnGap = 84, kRowGap = 92;
constexpr double kMarginLeft = 82, kMarginRight = 40, kMarginTop = 150, kMarginBottom = 66;
constexpr size_t kMostColumns = 3;
constexpr int kMostTicks = 8;
constexpr double kLabelWidth = 40, kLabelHeight = 16;

// A logarithmic axis from `low` to `high`, drawn between two coordinates.
struct Axis {
  double low, high, begin, end;
  double at(double value) const {
    return begin + std::log(value / low) / std::log(high / low) * (end - begin);
  }
};

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

template <class Coordinate>
Range range_of(const LogPanel& panel, Coordinate coordinate) {
  Range range;
  for (const LogCurve& curve : panel.curves)
    for (const auto& point : curve.points) range.include(coordinate(point));
  return range;
}

bool is_at_most(double a, double b) { return a <= b * (1 + 1e-9); }

// The largest of 1, 2 or 5 times a power of ten up to `value`.
double round_down(double value) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-9));
  return power * (is_at_most(5 * power, value) ? 5 : is_at_most(2 * power, value) ? 2 : 1);
}
double round_up(double value) { return 1 / round_down(1 / value); }  // 1/5, 1/2, 1 are 2, 5, 10 tenths

class LogPanelDrawing {
 public:
  LogPanelDrawing(const LogPlot& plot, const LogPanel& panel, Axis x, Axis y)
      : plot_(plot), panel_(panel), x_(x), y_(y) {}

  std::string draw() const {
    std::string text = words(x_.begin, y_.end - 14, "start", 16, kInk, panel_.title, "font-weight", "700");
    return text + grid() + (plot_.shade_lowest ? envelope() : "") + curves() + marks();
  }

 private:
  std::string grid() const {
    std::string text;
    const bool few_decades = y_.high / y_.low < 200;  // then 2 and 5 get labels, too
    for (double power = std::pow(10, std::floor(std::log10(y_.low))); is_at_most(power, y_.high); power *= 10)
      for (int part = 1; part < 10; ++part) {
        const double value = part * power;
        if (!is_at_most(y_.low, value) || !is_at_most(value, y_.high)) continue;
        const bool named = part == 1 || (few_decades && (part == 2 || part == 5));
        text += line(x_.begin, y_.at(value), x_.end, y_.at(value), named ? kGrid : "#f3f5f7", 1.2);
        if (named)
          text += words(x_.begin - 10, y_.at(value) + 4.5, "end", 13, kSoftInk, plot_.y_label(value));
      }
    text += line(x_.begin, y_.begin, x_.end, y_.begin, kAxis, 1.5);
    const int exponents = static_cast<int>(std::floor(std::log2(x_.high / x_.low) + 1e-9));
    const int stride = exponents / kMostTicks + 1;
    for (int exponent = static_cast<int>(std::ceil(std::log2(x_.low) - 1e-9));
         std::exp2(exponent) <= x_.high * (1 + 1e-9); exponent += stride) {
      const double value = std::exp2(exponent);
      text += line(x_.at(value), y_.begin, x_.at(value), y_.begin + 5, kAxis, 1.2);
      text += words(x_.at(value), y_.begin + 21, "middle", 13, kSoftInk,
                    plot_.x_label ? plot_.x_label(std::llround(value)) : grouped(std::llround(value)));
    }
    return text + words((x_.begin + x_.end) / 2, y_.begin + 45, "middle", 14, kSoftInk, plot_.x_name);
  }

  static std::string line(double x1, double y1, double x2, double y2, const char* colour, double width) {
    return element("line", "x1", x1, "y1", y1, "x2", x2, "y2", y2, "stroke", colour, "stroke-width", width);
  }

  std::string path(const std::vector<std::pair<double, double>>& points, const std::string& colour,
                   double width) const {
    std::string d;
    for (const auto& [x, y] : points)
      d += (d.empty() ? "M" : " L") + number(x_.at(x)) + " " + number(y_.at(y));
    return d.empty() ? ""
                     : element("path", "d", d, "fill", "none", "stroke", colour, "stroke-width", width,
                               "stroke-linejoin", "round", "stroke-linecap", "round");
  }

  // A wide pale band along the lowest curve.
  std::string envelope() const {
    std::vector<std::pair<double, double>> lowest;
    for (const LogCurve& curve : panel_.curves)
      for (const auto& point : curve.points) {
        const auto same =
            std::find_if(lowest.begin(), lowest.end(), [&](const auto& p) { return p.first == point.first; });
        if (same == lowest.end())
          lowest.push_back(point);
        else
          same->second = std::min(same->second, point.second);
      }
    std::sort(lowest.begin(), lowest.end());
    return path(lowest, "#fff0c2", 15);
  }

  std::string curves() const {
    std::string text;
    for (const LogCurve& curve : panel_.curves) text += path(curve.points, curve.colour, 2.6);
    return text;
  }

  // Labels are above their points; a label that would overlap another moves up.
  std::string marks() const {
    std::string text;
    std::vector<std::pair<double, double>> taken;
    for (const LogMark& mark : panel_.marks) {
      const double x = x_.at(mark.x), y = y_.at(mark.y);
      double label = y - 13;
      for (bool moved = true; moved;) {
        moved = false;
        for (const auto& [other_x, other_y] : taken)
          if (std::abs(other_x - x) < kLabelWidth && std::abs(other_y - label) < kLabelHeight) {
            label = other_y - kLabelHeight;
            moved = true;
          }
      }
      taken.emplace_back(x, label);
      text +=
          element("circle", "cx", x, "cy", y, "r", 5, "fill", "#ffffff", "stroke", kInk, "stroke-width", 2);
      // Two texts, because some programs draw the white outline of a single text over its letters.
      text += words(x, label, "middle", 13, "#ffffff", mark.label, "font-weight", "700", "stroke", "#ffffff",
                    "stroke-width", 4);
      text += words(x, label, "middle", 13, kInk, mark.label, "font-weight", "700");
    }
    return text;
  }

  const LogPlot& plot_;
  const LogPanel& panel_;
  Axis x_, y_;
};

// Every name once, in order of appearance.
std::string legend(const LogPlot& plot) {
  std::vector<std::string> seen;
  std::string text;
  double at = kMarginLeft;
  for (const LogPanel& panel : plot.panels)
    for (const LogCurve& curve : panel.curves) {
      if (std::find(seen.begin(), seen.end(), curve.name) != seen.end()) continue;
      seen.push_back(curve.name);
      text += element("line", "x1", at, "y1", 98, "x2", at + 26, "y2", 98, "stroke", curve.colour,
                      "stroke-width", 3.5, "stroke-linecap", "round");
      text += words(at + 36, 103, "start", 14, kInk, curve.name);
      at += 64 + 7.6 * static_cast<double>(curve.name.size());
    }
  if (plot.shade_lowest) {
    text +=
        element("line", "x1", at, "y1", 98, "x2", at + 26, "y2", 98, "stroke", "#fff0c2", "stroke-width", 13);
    text += words(at + 38, 103, "start", 14, kInk, "the fastest");
  }
  if (plot.mark_meaning.empty()) return text;
  text += element("circle", "cx", at + 143, "cy", 98, "r", 5, "fill", "#ffffff", "stroke", kInk,
                  "stroke-width", 2);
  return text + words(at + 156, 103, "start", 14, kInk, plot.mark_meaning);
}

}  // namespace

std::string loglog_svg(const LogPlot& plot) {
  const size_t columns = std::min(plot.panels.size(), kMostColumns);
  const size_t rows = (plot.panels.size() + columns - 1) / columns;
  const double least_width = 1000;  // room for the legend
  const double width =
      std::max(least_width, kMarginLeft + static_cast<double>(columns) * (kPanelWidth + kColumnGap) -
                                kColumnGap + kMarginRight);
  const double height =
      kMarginTop + static_cast<double>(rows) * (kPanelHeight + kRowGap) - kRowGap + kMarginBottom;
  std::string text = words(kMarginLeft, 42, "start", 22, kInk, plot.title, "font-weight", "700") +
                     words(kMarginLeft, 66, "start", 14, kSoftInk, plot.subtitle) + legend(plot);
  for (size_t i = 0; i < plot.panels.size(); ++i) {
    const double left = kMarginLeft + static_cast<double>(i % columns) * (kPanelWidth + kColumnGap);
    const double top = kMarginTop + static_cast<double>(i / columns) * (kPanelHeight + kRowGap);
    const Range x = range_of(plot.panels[i], [](const auto& point) { return point.first; });
    const Range y = range_of(plot.panels[i], [](const auto& point) { return point.second; });
    const double low = round_down(y.low), high = std::max(round_up(y.high), 10 * low);
    const Axis across{x.low, x.high > x.low ? x.high : 2 * x.low, left, left + kPanelWidth};
    const Axis up{low, high, top + kPanelHeight, top};
    text += LogPanelDrawing(plot, plot.panels[i], across, up).draw();
  }
  return document(plot.title, width, height, text);
}

}  // namespace rondo::program
