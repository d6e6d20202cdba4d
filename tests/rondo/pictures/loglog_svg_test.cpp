#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/pictures/loglog_svg.h>

#include <sstream>

namespace rondo::program {
namespace {

using test::missing;
using test::XmlCheck;

using Points = std::vector<std::pair<double, double>>;

LogPlot plot_of(const std::vector<Points>& curves, const std::vector<LogMark>& marks = {}) {
  LogPanel panel{.title = "panel", .curves = {}, .marks = marks};
  for (const Points& points : curves)
    panel.curves.push_back(
        {.name = "curve " + std::to_string(panel.curves.size()), .colour = "#2a6fdb", .points = points});
  return {.title = "a < b",
          .subtitle = "subtitle",
          .x_name = "count",
          .mark_meaning = "crossing",
          .y_label = [](double value) { return std::to_string(value); },
          .panels = {panel}};
}

// The points of the paths of one colour.
std::vector<Points> paths(const std::string& svg, const std::string& colour) {
  std::vector<Points> found;
  for (size_t at = svg.find("<path"); at != std::string::npos; at = svg.find("<path", at + 1)) {
    const std::string element = svg.substr(at, svg.find("/>", at) - at);
    if (element.find(colour) == std::string::npos) continue;
    const size_t begin = element.find(" d=\"") + 4;
    std::string d = element.substr(begin, element.find('"', begin) - begin);
    for (char& c : d)
      if (c == 'M' || c == 'L') c = ' ';
    std::istringstream numbers(d);
    Points points;
    for (double x, y; numbers >> x >> y;) points.emplace_back(x, y);
    found.push_back(points);
  }
  return found;
}

TEST(LogLogSvg, WellFormed) {
  for (const std::vector<Points>& curves : {std::vector<Points>{{{2, 1e-6}}},
                                            {{{2, 1}, {4, 1}}},
                                            {{{1, 1e-9}, {1e6, 1e9}}},
                                            {{{2, 3}, {4, 5}}, {}}}) {
    const std::string svg = loglog_svg(plot_of(curves, {{2, 1, "a & b"}}));
    EXPECT_EQ(XmlCheck::fault(svg), "");
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
    EXPECT_EQ(missing(svg, {"a &lt; b", "a &amp; b", ">panel<", ">count<", ">curve 0<", ">crossing<"}), "");
  }
}

// Equal factors are equal distances on both axes.
TEST(LogLogSvg, BothAxesAreLogarithmic) {
  const std::vector<Points> drawn =
      paths(loglog_svg(plot_of({{{2, 1e-5}, {8, 1e-4}, {32, 1e-3}, {64, 1e-2}}})), "#2a6fdb");
  ASSERT_EQ(drawn.size(), 1u);
  const Points& p = drawn[0];
  ASSERT_EQ(p.size(), 4u);
  EXPECT_NEAR(p[1].first - p[0].first, p[2].first - p[1].first, 0.03);
  EXPECT_NEAR(p[2].first - p[1].first, 2 * (p[3].first - p[2].first), 0.03);
  for (int i = 1; i < 3; ++i) EXPECT_NEAR(p[i].second - p[i - 1].second, p[i + 1].second - p[i].second, 0.03);
  EXPECT_LT(p[1].second, p[0].second);
}

// Each curve has its colour, and so does its name.
TEST(LogLogSvg, CurvesHaveTheirColours) {
  LogPlot plot = plot_of({{{2, 1}, {4, 4}}, {{2, 3}, {4, 3}, {8, 3}}, {{2, 9}, {8, 9}}});
  const std::string colours[] = {"#112233", "#445566", "#778899"};
  for (size_t i = 0; i < 3; ++i) plot.panels[0].curves[i].colour = colours[i];
  const std::string svg = loglog_svg(plot);
  for (size_t i = 0; i < 3; ++i) {
    const std::vector<Points> drawn = paths(svg, colours[i]);
    ASSERT_EQ(drawn.size(), 1u) << i;
    EXPECT_EQ(drawn[0].size(), plot.panels[0].curves[i].points.size()) << i;
    const size_t name = svg.find(concat(">curve ", i, "<")), swatch = svg.rfind("stroke=\"", name);
    EXPECT_EQ(svg.compare(swatch, 15, concat("stroke=\"", colours[i])), 0) << svg.substr(swatch, 30);
  }
}

TEST(LogLogSvg, TheEnvelopeIsTheMinimum) {
  const std::string svg = loglog_svg(plot_of({{{2, 1}, {4, 4}, {8, 16}}, {{2, 3}, {4, 3}, {8, 3}}}));
  const std::vector<Points> curves = paths(svg, "#2a6fdb"), envelope = paths(svg, "#fff0c2");
  ASSERT_EQ(curves.size(), 2u);
  ASSERT_EQ(envelope.size(), 1u);
  EXPECT_EQ(envelope[0], (Points{curves[0][0], curves[1][1], curves[1][2]}));
}

TEST(LogLogSvg, AdjacentLabelsDoNotOverlap) {
  const std::string svg =
      loglog_svg(plot_of({{{2, 1}, {2048, 100}}}, {{100, 5, "100"}, {101, 5, "101"}, {102, 5, "102"}}));
  std::vector<double> heights;
  for (const std::string label : {">100<", ">101<", ">102<"}) {
    const size_t end = svg.rfind(label), begin = svg.rfind(" y=\"", end);
    ASSERT_NE(end, std::string::npos);
    heights.push_back(std::stod(svg.substr(begin + 4)));
  }
  EXPECT_GE(heights[0] - heights[1], 16);
  EXPECT_GE(heights[1] - heights[2], 16);
}

}  // namespace
}  // namespace rondo::program
