// Curves by epoch as an SVG picture: panels side by side, in each a curve of every training run that is shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::program {

struct EpochPoint {
  int64_t epoch = 1;  // at least 1
  double value = 0;   // one that is not finite leaves a gap
};

struct Curve {
  std::string colour;              // "#2a6fdb"
  std::vector<EpochPoint> points;  // epochs rising
};

struct Panel {
  std::string name;           // above it; beside a sample of the line where there is one curve
  std::vector<Curve> curves;  // the last value is written beside a curve that is alone
  double top = 0;             // the vertical axis goes from 0 to here; 0: to a round number above all values
  bool as_percent = false;    // the axis shows 0.5 as 50 %
};

// A line under the subtitle: which colour is what in all panels.
struct LegendLine {
  std::string colour, text;
};

// The whole SVG 1.1 document. Texts may hold any characters.
std::string plot_svg(const std::string& title, const std::string& subtitle, const std::vector<Panel>& panels,
                     const std::vector<LegendLine>& legend = {});

// Round positions from 0 up: steps of 1, 2 or 5 times a power of ten, about `wanted` of them, the last at or
// above `top`. For epochs, `whole` keeps the steps at 1 or more.
std::vector<double> ticks(double top, int wanted, bool whole);

}  // namespace rondo::program
