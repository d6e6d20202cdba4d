// Curves over two logarithmic axes as an SVG picture: panels side by side, each with its curves, points that
// are labelled, and if wanted the lower envelope shaded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rondo::program {

struct LogCurve {
  std::string name;  // in the legend; curves with the same name have the same colour in all panels
  std::string colour;
  std::vector<std::pair<double, double>>
      points;  // x and y above 0, x ascending; the curves of a panel have the same x values
};

// A labelled point.
struct LogMark {
  double x = 0, y = 0;
  std::string label;
};

struct LogPanel {
  std::string title;
  std::vector<LogCurve> curves;
  std::vector<LogMark> marks;
};

struct LogPlot {
  std::string title, subtitle;
  std::string x_name;                          // under each panel
  std::string mark_meaning;                    // the legend's text for marked points; empty: there are none
  std::function<std::string(double)> y_label;  // of 1, 2 or 5 times a power of ten
  std::vector<LogPanel> panels;                // at least one, with at least one point
  std::function<std::string(int64_t)> x_label = {};  // of powers of two; none: all digits
  bool shade_lowest = true;  // the lower envelope, which the legend calls "the fastest"
};

// Returns the complete SVG 1.1 document. The x axis is marked at powers of two; every panel has its own y
// axis.
std::string loglog_svg(const LogPlot& plot);

}  // namespace rondo::program
