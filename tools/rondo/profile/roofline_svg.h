// A roofline (Williams, Waterman and Patterson, 2009) as an SVG picture: the rate that a device allows over
// the arithmetic intensity, and one point per kernel.
#pragma once

#include <string>
#include <vector>

namespace rondo::program {

// A flat line: the rate of one kind of arithmetic.
struct RooflinePeak {
  std::string name;
  double rate = 0;  // FLOP/s, above 0
};

// A sloped line: the rate that a memory allows, up to the highest peak.
struct RooflineCeiling {
  std::string name;
  double bytes_per_second = 0;  // above 0
};

struct RooflinePoint {
  std::string name;
  double intensity = 0;  // FLOP per byte
  double rate = 0;       // FLOP/s; both above 0
};

struct Roofline {
  std::string title, subtitle;
  std::vector<RooflinePeak> peaks;  // at least one
  std::vector<RooflineCeiling> ceilings;
  std::vector<RooflinePoint> points;
};

// Returns the complete SVG 1.1 document. Points that would overlap share one number, as in "2, 3".
std::string roofline_svg(const Roofline& roofline);

}  // namespace rondo::program
