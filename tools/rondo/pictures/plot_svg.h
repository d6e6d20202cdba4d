// Curves by epoch as an SVG picture: panels side by side, each with one curve per training run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::program {

struct EpochPoint {
  int64_t epoch = 1;  // at least 1
  double value = 0;   // a value that is not finite leaves a gap
};

struct Curve {
  std::string colour;              // "#2a6fdb"
  std::vector<EpochPoint> points;  // epochs ascending
};

struct Panel {
  std::string name;           // above the panel; next to a sample of the line if there is one curve
  std::vector<Curve> curves;  // a single curve is labelled with its last value
  double top = 0;             // the end of the vertical axis; 0: a round number above all values
  bool as_percent = false;    // the axis shows 0.5 as 50 %
};

// A line below the subtitle that explains a colour of all panels.
struct LegendLine {
  std::string colour, text;
};

// Returns the complete SVG 1.1 document. Texts may contain any characters.
std::string plot_svg(const std::string& title, const std::string& subtitle, const std::vector<Panel>& panels,
                     const std::vector<LegendLine>& legend = {});

// Round positions from 0 up, in steps of 1, 2 or 5 times a power of ten: about `wanted` of them, the last one
// at or above `top`. `whole` keeps the step at 1 or more, for epochs.
std::vector<double> ticks(double top, int wanted, bool whole);

}  // namespace rondo::program
