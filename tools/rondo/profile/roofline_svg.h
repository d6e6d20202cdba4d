// A roofline (Williams, Waterman and Patterson, 2009) as an SVG picture: the rate that a device allows over
// the arithmetic intensity, and one point per kernel.
#pragma once

#include <string>
#include <vector>

namespace rondo::program {

struct RooflineCeiling {
  std::string name;
  double bytes_per_second = 0;  // a sloped line; 0: none
};

struct RooflinePoint {
  std::string name;
  double intensity = 0;  // FLOP per byte
  double rate = 0;       // FLOP/s; both above 0
};

struct Roofline {
  std::string title, subtitle;
  double peak = 0;  // FLOP/s, the flat line
  std::string peak_name;
  std::vector<RooflineCeiling> ceilings;
  std::vector<RooflinePoint> points;
};

// Returns the complete SVG 1.1 document.
std::string roofline_svg(const Roofline& roofline);

}  // namespace rondo::program
