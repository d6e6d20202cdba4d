#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/pictures/plot_svg.h>
#include <rondo/tools/rondo/pictures/svg.h>

#include <algorithm>
#include <cmath>

namespace rondo::program {
namespace {

using namespace svg;

// Page layout, in the picture's units.
constexpr double kPanelWidth = 400, kPanelHeight = 250, kGap = 66;
constexpr double kMarginLeft = 62, kMarginRight = 38, kMarginTop = 118, kMarginBottom = 62;
constexpr double kLegendLine = 24;
constexpr size_t kMostDots = 40;  // a curve with more epochs has no dots

// More digits before the point would reach into the neighbouring panel.
std::string value_text(double value, int digits) {
  constexpr double kMost = 1e7;
  return value >= kMost ? general(value, 3) : fixed(value, digits);
}

std::string tick_label(double value, double step, bool as_percent) {
  if (as_percent) return number(value * 100) + " %";
  return value_text(value, std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9))));
}

std::string dot(double x, double y, const std::string& colour) {
  return element("circle", "cx", x, "cy", y, "r", 4.5, "fill", colour, "stroke", "#ffffff", "stroke-width",
                 1.5);
}

// A sample of a curve, for legends.
std::string sample(double left, double y, const std::string& colour) {
  return element("line", "x1", left, "y1", y, "x2", left + 26, "y2", y, "stroke", colour, "stroke-width", 3,
                 "stroke-linecap", "round") +
         dot(left + 13, y, colour);
}

// One panel: its coordinate system and its contents.
class PanelDrawing {
 public:
  PanelDrawing(const Panel& panel, double left, double top, int64_t epochs)
      : panel_(panel),
        left_(left),
        top_(top),
        last_epoch_(static_cast<double>(std::max<int64_t>(2, epochs))) {
    double highest = panel.top;
    for (const Curve& curve : panel.curves)
      for (const EpochPoint& point : curve.points)
        if (panel.top <= 0 && std::isfinite(point.value)) highest = std::max(highest, point.value);
    y_ticks_ = ticks(highest > 0 ? highest : 1, 5, false);
  }

  std::string draw() const {
    std::string text = heading() + grid();
    for (const Curve& curve : panel_.curves) text += drawn(curve);
    if (panel_.curves.size() == 1) text += last_value(panel_.curves[0]);
    return text;
  }

 private:
  double x(double epoch) const { return left_ + (epoch - 1) / (last_epoch_ - 1) * kPanelWidth; }
  double y(double value) const { return top_ + (1 - value / y_ticks_.back()) * kPanelHeight; }

  std::string heading() const {
    const double line = top_ - 22;
    if (panel_.curves.size() != 1)
      return words(left_, line + 5, "start", 15, kInk, panel_.name, "font-weight", "600");
    return sample(left_, line, panel_.curves[0].colour) +
           words(left_ + 36, line + 5, "start", 15, kInk, panel_.name, "font-weight", "600");
  }

  std::string grid() const {
    std::string text;
    const double bottom = top_ + kPanelHeight;
    for (double value : y_ticks_) {
      const bool axis = value == 0;
      text += element("line", "x1", left_, "y1", y(value), "x2", left_ + kPanelWidth, "y2", y(value),
                      "stroke", axis ? kAxis : kGrid, "stroke-width", axis ? 1.5 : 1);
      text += words(left_ - 10, y(value) + 4.5, "end", 13, kSoftInk,
                    tick_label(value, y_ticks_[1], panel_.as_percent));
    }
    // Epochs begin at 1, which always has a label; a round epoch that is too close to it gets none.
    std::vector<double> epochs = ticks(last_epoch_, 10, true);
    epochs.front() = 1;
    if (epochs.size() > 1 && epochs[1] == 1) epochs.erase(epochs.begin());
    for (double epoch : epochs) {
      if (epoch > last_epoch_) continue;
      text += element("line", "x1", x(epoch), "y1", bottom, "x2", x(epoch), "y2", bottom + 5, "stroke", kAxis,
                      "stroke-width", 1.5);
      text += words(x(epoch), bottom + 21, "middle", 13, kSoftInk, number(epoch));
    }
    return text + words(left_ + kPanelWidth / 2, bottom + 46, "middle", 14, kSoftInk, "epoch");
  }

  std::string drawn(const Curve& curve) const {
    std::string path, dots;
    bool pen_down = false;
    for (const EpochPoint& point : curve.points) {
      const double across = x(static_cast<double>(point.epoch));
      const bool drawable = std::isfinite(point.value);
      if (drawable) {
        path += (pen_down ? " L" : path.empty() ? "M" : " M") + number(across) + " " + number(y(point.value));
        dots += dot(across, y(point.value), curve.colour);
      }
      pen_down = drawable;
    }
    std::string text;
    if (!path.empty()) {
      text = element("path", "d", path, "fill", "none", "stroke", curve.colour, "stroke-width", 3,
                     "stroke-linejoin", "round", "stroke-linecap", "round");
    }
    if (curve.points.size() <= kMostDots) text += dots;
    return text;
  }

  // The last value is next to the curve's end, on the side away from the curve.
  std::string last_value(const Curve& curve) const {
    if (curve.points.empty() || !std::isfinite(curve.points.back().value)) return "";
    const double value = curve.points.back().value;
    const bool rising = curve.points.size() < 2 || !(curve.points.front().value > value);
    const double below = y(value) + 26;
    const bool room_below = below < top_ + kPanelHeight - 6;
    const double line = rising && room_below ? below : y(value) - 14;
    const std::string label = panel_.as_percent ? fixed(value * 100, 1) + " %" : value_text(value, 3);
    const double end = x(static_cast<double>(curve.points.back().epoch));
    // A white outline separates the letters from the grid lines.
    return words(end, line, curve.points.back().epoch > 1 ? "end" : "start", 15, curve.colour.c_str(), label,
                 "font-weight", "700", "stroke", "#ffffff", "stroke-width", 4, "paint-order", "stroke");
  }

  const Panel& panel_;
  double left_, top_;
  double last_epoch_;
  std::vector<double> y_ticks_;
};

}  // namespace

std::vector<double> ticks(double top, int wanted, bool whole) {
  const double rough = top / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double factor : {5, 2, 1}) {
    if (factor * power >= rough * (1 - 1e-9)) step = factor * power;
  }
  if (whole) step = std::max(step, 1.0);
  std::vector<double> positions;
  for (int i = 0; positions.empty() || positions.back() < top * (1 - 1e-9); ++i)
    positions.push_back(i * step);
  return positions;
}

std::string plot_svg(const std::string& title, const std::string& subtitle, const std::vector<Panel>& panels,
                     const std::vector<LegendLine>& legend) {
  int64_t epochs = 0;
  for (const Panel& panel : panels)
    for (const Curve& curve : panel.curves)
      if (!curve.points.empty()) epochs = std::max(epochs, curve.points.back().epoch);
  const auto count = static_cast<double>(panels.size());
  const double width = kMarginLeft + count * kPanelWidth + (count - 1) * kGap + kMarginRight;
  const double top = kMarginTop + kLegendLine * static_cast<double>(legend.size());
  const double height = top + kPanelHeight + kMarginBottom;

  std::string text = words(kMarginLeft, 42, "start", 22, kInk, title, "font-weight", "700") +
                     words(kMarginLeft, 66, "start", 14, kSoftInk, subtitle);
  double line = 90;
  for (const LegendLine& entry : legend) {
    text += sample(kMarginLeft, line, entry.colour) +
            words(kMarginLeft + 36, line + 5, "start", 14, kInk, entry.text);
    line += kLegendLine;
  }
  double left = kMarginLeft;
  for (const Panel& panel : panels) {
    text += PanelDrawing(panel, left, top, epochs).draw();
    left += kPanelWidth + kGap;
  }
  return document(title, width, height, text);
}

}  // namespace rondo::program
