#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/pictures/svg.h>
#include <rondo/tools/rondo/profile/roofline_svg.h>
#include <rondo/tools/rondo/support/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rondo::program {
namespace {

constexpr double kPlotWidth = 640, kPlotHeight = 450;
constexpr double kLeft = 104, kTop = 92, kBottom = 74, kLegendGap = 28, kLegendLine = 22, kMargin = 28;
constexpr double kFont = 13, kCharacter = 0.57;  // about the width of a character, in font sizes
constexpr const char* kColours[] = {"#2a6fdb", "#2f9e63", "#e4572e", "#8e4ec6",
                                    "#c9a227", "#0b7285", "#a61e4d"};

// A range of whole decades that contains all values.
struct Decades {
  int low = 0, high = 1;
  double begin = 0, length = 0;  // of the axis, in pixels

  double at(double value) const { return begin + length * (std::log10(value) - low) / (high - low); }
};

Decades decades_of(double least, double most, double begin, double length) {
  const int low = static_cast<int>(std::floor(std::log10(least)));
  return {low, std::max(static_cast<int>(std::ceil(std::log10(most))), low + 1), begin, length};
}

std::string rate_text(double rate) {
  constexpr std::pair<double, const char*> kUnits[] = {
      {1e15, " PFLOP/s"}, {1e12, " TFLOP/s"}, {1e9, " GFLOP/s"}, {1e6, " MFLOP/s"}};
  for (const auto& [unit, name] : kUnits)
    if (rate >= 0.999 * unit) return general(rate / unit, 3) + name;
  return general(rate, 3) + " FLOP/s";
}

double text_width(const std::string& text, double size) {
  return kCharacter * size * static_cast<double>(text.size());
}

struct Box {
  double left, top, right, bottom;
  bool overlaps(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

// The kernels of one place in the picture.
struct Dot {
  double x, y;
  std::vector<size_t> points;
};

class RooflinePicture {
 public:
  explicit RooflinePicture(const Roofline& roofline) : roofline_(roofline) {
    for (const RooflinePeak& peak : roofline.peaks) peak_ = std::max(peak_, peak.rate);
    double lowest = peak_, least_x = 0.1, most_x = 100, most_y = peak_ * 1.5;
    for (const RooflinePeak& peak : roofline.peaks) lowest = std::min(lowest, peak.rate);
    double least_y = lowest / 1000;
    for (const RooflineCeiling& ceiling : roofline.ceilings)  // its ridge with the highest peak
      most_x = std::max(most_x, peak_ / ceiling.bytes_per_second);
    double names = 0;
    for (size_t i = 0; i < roofline.points.size(); ++i) {
      const RooflinePoint& point = roofline.points[i];
      least_x = std::min(least_x, point.intensity), most_x = std::max(most_x, point.intensity);
      least_y = std::min(least_y, point.rate), most_y = std::max(most_y, point.rate);
      names = std::max(names, text_width(legend_text(i), kFont));
    }
    x_ = decades_of(least_x, most_x, kLeft, kPlotWidth);
    y_ = decades_of(least_y, most_y, kTop + kPlotHeight, -kPlotHeight);
    const double heading = std::max(text_width(roofline.title, 22), text_width(roofline.subtitle, 14));
    width_ = std::max(kRight + (names > 0 ? kLegendGap + 22 + names : 0), kMargin + heading) + kMargin;
    height_ = std::max(kTop + kPlotHeight + kBottom,
                       kTop + kLegendLine * static_cast<double>(roofline.points.size() + 1));
  }

  std::string draw() const {
    return svg::document(roofline_.title, width_, height_, heading() + grid() + roofs() + dots() + legend());
  }

 private:
  static constexpr double kRight = kLeft + kPlotWidth, kFloor = kTop + kPlotHeight;

  std::string legend_text(size_t i) const { return exact_text(i + 1) + "  " + roofline_.points[i].name; }
  static const char* colour_of(size_t i) { return kColours[i % std::size(kColours)]; }

  std::string heading() const {
    return svg::words(kMargin, 40, "start", 22, svg::kInk, roofline_.title, "font-weight", "700") +
           svg::words(kMargin, 64, "start", 14, svg::kSoftInk, roofline_.subtitle);
  }

  std::string grid() const {
    std::string text;
    for (int decade = x_.low; decade <= x_.high; ++decade) {
      const double at = x_.at(std::pow(10.0, decade));
      text += svg::element("line", "x1", at, "y1", kTop, "x2", at, "y2", kFloor, "stroke", svg::kGrid);
      text += svg::words(at, kFloor + 20, "middle", kFont, svg::kSoftInk, general(std::pow(10.0, decade), 6));
    }
    for (int decade = y_.low; decade <= y_.high; ++decade) {
      const double at = y_.at(std::pow(10.0, decade));
      text += svg::element("line", "x1", kLeft, "y1", at, "x2", kRight, "y2", at, "stroke", svg::kGrid);
      text +=
          svg::words(kLeft - 10, at + 4.5, "end", kFont, svg::kSoftInk, rate_text(std::pow(10.0, decade)));
    }
    return text + svg::words((kLeft + kRight) / 2, kFloor + 48, "middle", 14, svg::kSoftInk,
                             "arithmetic intensity: FLOP per byte of global memory");
  }

  // The names of peaks are at the right, above their lines; those of memories along their lines.
  std::string roofs() const {
    std::string text;
    const double low = std::pow(10.0, x_.low), high = std::pow(10.0, x_.high), floor = std::pow(10.0, y_.low);
    for (const RooflinePeak& peak : roofline_.peaks) {
      const double at = y_.at(peak.rate);
      text += svg::element("line", "x1", kLeft, "y1", at, "x2", kRight, "y2", at, "stroke", svg::kAxis,
                           "stroke-width", peak.rate == peak_ ? 2.4 : 1.6, "stroke-dasharray",
                           peak.rate == peak_ ? "none" : "7 4");
      text += svg::words(kRight - 4, at - 6, "end", kFont, svg::kInk, peak.name);
    }
    for (size_t i = 0; i < roofline_.ceilings.size(); ++i) {
      const RooflineCeiling& ceiling = roofline_.ceilings[i];
      const double begin = std::max(low, floor / ceiling.bytes_per_second);
      const double ridge = std::min(peak_ / ceiling.bytes_per_second, high);
      if (ridge <= begin) continue;
      const double x1 = x_.at(begin), y1 = y_.at(begin * ceiling.bytes_per_second);
      const double x2 = x_.at(ridge), y2 = y_.at(ridge * ceiling.bytes_per_second);
      text += svg::element("line", "x1", x1, "y1", y1, "x2", x2, "y2", y2, "stroke", svg::kAxis,
                           "stroke-width", 2.4);
      // Under the first line, above the others, so that close lines have their names on both sides.
      const double angle = std::atan2(y2 - y1, x2 - x1), away = i == 0 ? 17 : -8;
      const double part = 0.32, cx = x1 + part * (x2 - x1) - away * std::sin(angle),
                   cy = y1 + part * (y2 - y1) + away * std::cos(angle);
      text += svg::words(cx, cy, "middle", kFont, svg::kInk, ceiling.name, "transform",
                         concat("rotate(", svg::number(angle * 180 / std::numbers::pi), " ", svg::number(cx),
                                " ", svg::number(cy), ")"));
    }
    return text;
  }

  std::vector<Dot> places() const {
    std::vector<Dot> dots;
    for (size_t i = 0; i < roofline_.points.size(); ++i) {
      const double x = x_.at(roofline_.points[i].intensity), y = y_.at(roofline_.points[i].rate);
      const auto near =
          std::ranges::find_if(dots, [&](const Dot& dot) { return std::hypot(dot.x - x, dot.y - y) < 5; });
      if (near == dots.end())
        dots.push_back({x, y, {i}});
      else
        near->points.push_back(i);
    }
    return dots;
  }

  // A number is where it covers no dot and no other number, as near to its dot as possible.
  std::string dots() const {
    const std::vector<Dot> dots = places();
    std::vector<Box> taken;
    for (const Dot& dot : dots) taken.push_back({dot.x - 7, dot.y - 7, dot.x + 7, dot.y + 7});
    std::string text, numbers;
    for (const Dot& dot : dots) {
      text += svg::element("circle", "cx", dot.x, "cy", dot.y, "r", 6, "fill", colour_of(dot.points[0]),
                           "stroke", "#ffffff", "stroke-width", 1.5);
      std::string name;
      for (const size_t i : dot.points) name += (name.empty() ? "" : ", ") + exact_text(i + 1);
      const double w = text_width(name, kFont) + 2, h = kFont;
      Box best{};
      for (int ring = 0, found = 0; ring < 8 && found == 0; ++ring)
        for (int direction = 0; direction < 12 && found == 0; ++direction) {
          const double angle = direction * std::numbers::pi / 6, reach = 10.0 + 10 * ring;
          const double cx = dot.x + (reach + w / 2) * std::cos(angle),
                       cy = dot.y - (reach + h / 2) * std::sin(angle);
          const Box box{cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2};
          const bool outside =
              box.left < kLeft || box.right > kRight || box.top < kTop || box.bottom > kFloor;
          if (outside || std::ranges::any_of(taken, [&](const Box& other) { return box.overlaps(other); }))
            continue;
          best = box;
          found = 1;
        }
      if (best.right == 0) best = {dot.x + 10, dot.y - h / 2, dot.x + 10 + w, dot.y + h / 2};
      taken.push_back(best);
      const double cx = (best.left + best.right) / 2, cy = (best.top + best.bottom) / 2;
      if (std::hypot(cx - dot.x, cy - dot.y) > 24 + w / 2)
        text += svg::element("line", "x1", dot.x, "y1", dot.y, "x2", cx, "y2", cy, "stroke", svg::kAxis);
      // Two texts, because some programs draw the outline of a single text over its letters.
      numbers += svg::words(cx, cy + 4.5, "middle", kFont, "#ffffff", name, "font-weight", "700", "stroke",
                            "#ffffff", "stroke-width", 4);
      numbers += svg::words(cx, cy + 4.5, "middle", kFont, svg::kInk, name, "font-weight", "700");
    }
    return text + numbers;
  }

  std::string legend() const {
    std::string text;
    for (size_t i = 0; i < roofline_.points.size(); ++i) {
      const double y = kTop + 12 + kLegendLine * static_cast<double>(i), x = kRight + kLegendGap;
      text += svg::element("circle", "cx", x, "cy", y - 4.5, "r", 6, "fill", colour_of(i));
      text += svg::words(x + 16, y, "start", kFont, svg::kInk, legend_text(i));
    }
    return text;
  }

  const Roofline& roofline_;
  double peak_ = 0, width_ = 0, height_ = 0;
  Decades x_{}, y_{};
};

}  // namespace

std::string roofline_svg(const Roofline& roofline) { return RooflinePicture(roofline).draw(); }

}  // namespace rondo::program
