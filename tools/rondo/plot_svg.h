// Curves by epoch as an SVG picture: panels side by side, one curve a panel.
#pragma once

#include <string>
#include <vector>

namespace rondo::program {

struct Panel {
  std::string name;            // the legend's text
  std::string colour;          // "#2a6fdb"
  std::vector<double> values;  // of epoch 1, 2, ...; a value that is not finite leaves a gap
  double top = 0;              // the vertical axis goes from 0 to here; 0: to a round number above all values
  bool as_percent = false;     // the axis shows 0.5 as 50 %
};

// The whole SVG 1.1 document. Texts may hold any characters.
std::string plot_svg(const std::string& title, const std::string& subtitle, const std::vector<Panel>& panels);

// Round positions from 0 up: steps of 1, 2 or 5 times a power of ten, about `wanted` of them, the last at or
// above `top`. For epochs, `whole` keeps the steps at 1 or more.
std::vector<double> ticks(double top, int wanted, bool whole);

}  // namespace rondo::program
