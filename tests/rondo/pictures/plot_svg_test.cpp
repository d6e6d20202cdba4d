#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/pictures/plot_svg.h>
#include <rondo/tools/rondo/pictures/svg.h>

#include <cmath>
#include <limits>
#include <regex>
#include <sstream>
#include <utility>

namespace rondo::program {
namespace {

using test::count;
using test::XmlCheck;

// A curve whose first epoch is 1.
Curve curve(const std::string& colour, const std::vector<double>& values) {
  Curve curve{.colour = colour, .points = {}};
  for (double value : values) curve.points.push_back({static_cast<int64_t>(curve.points.size()) + 1, value});
  return curve;
}

std::string draw(const std::vector<double>& loss, const std::vector<double>& accuracy,
                 const std::string& title = "title") {
  return plot_svg(title, "subtitle",
                  {{.name = "loss", .curves = {curve("#2a6fdb", loss)}},
                   {.name = "acc", .curves = {curve("#e4572e", accuracy)}, .top = 1, .as_percent = true}});
}

// All numbers in attributes such as cx="12.5".
std::vector<double> numbers(const std::string& svg, const std::string& attribute) {
  std::vector<double> found;
  const std::string key = " " + attribute + "=\"";
  for (size_t at = svg.find(key); at != std::string::npos; at = svg.find(key, at + 1)) {
    found.push_back(std::stod(svg.substr(at + key.size())));
  }
  return found;
}

TEST(XmlCheckItself, FindsFaults) {
  EXPECT_EQ(XmlCheck::fault("<?xml version=\"1.0\"?>\n<a b=\"c\"><d/>x &amp; y</a>\n"), "");
  for (const char* bad :
       {"", "text", "<a>", "</a>", "<a></b>", "<a>&</a>", "<a>< </a>", "<a b=c/>", "<a b=\"1\" b=\"2\"/>",
        "<a b=\"<\"/>", "<a b=\"&\"/>", "<a/><b/>", "<a b=\"1\"c=\"2\"/>", "<a>\x01</a>"}) {
    EXPECT_NE(XmlCheck::fault(bad), "") << bad;
  }
}

TEST(PlotSvg, IsWellFormedForAnyValues) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  const std::vector<std::vector<double>> cases = {{},
                                                  {0},
                                                  {0.5},
                                                  {2.3, 1.2, 0.4},
                                                  {nan},
                                                  {nan, 1, nan, nan, 2, 3},
                                                  {infinity, 1},
                                                  {1e-30, 1e-31},
                                                  {1e30, 1},
                                                  {0, 0, 0},
                                                  std::vector<double>(1000, 0.25)};
  for (const std::vector<double>& loss : cases) {
    const std::string svg = draw(loss, loss);
    EXPECT_EQ(XmlCheck::fault(svg), "");
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
  }
}

TEST(PlotSvg, EscapesText) {
  const std::string svg = draw({1}, {1}, "a < b & \"c\" > 'd' \x02 é");
  EXPECT_EQ(XmlCheck::fault(svg), "");
  EXPECT_NE(svg.find("a &lt; b &amp; &quot;c&quot; &gt;"), std::string::npos);
}

// A file name may have any bytes, and browsers refuse an SVG that is not valid UTF-8.
TEST(PlotSvg, InvalidUtf8IsReplaced) {
  const std::string mark = "\xEF\xBF\xBD";
  for (const char* good : {"é", "€", "😀", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF", "\xC2\x80"})
    EXPECT_EQ(svg::escaped(good), good);
  const std::pair<std::string, size_t> bads[] = {{"\xFF", 1},
                                                 {"\x80", 1},
                                                 {"\xC3", 1},
                                                 {"\xC0\xAF", 2},
                                                 {"\xE0\x9F\xBF", 3},
                                                 {"\xED\xA0\x80", 3},
                                                 {"\xEF\xBF\xBF", 3},
                                                 {"\xF0\x8F\xBF\xBF", 4},
                                                 {"\xF4\x90\x80\x80", 4},
                                                 {"\xE2\x82", 2}};
  for (const auto& [bad, marks] : bads) {
    std::string want = "a";
    for (size_t i = 0; i < marks; ++i) want += mark;
    EXPECT_EQ(svg::escaped("a" + bad + "b"), want + "b") << bad;
    EXPECT_EQ(svg::escaped("a" + bad), want) << bad;
  }
}

TEST(PlotSvg, DrawsEveryPointInsideThePicture) {
  const std::string svg = draw({2.3, 1.2, 0.8, 0.5}, {0.1, 0.5, 0.7, 0.8});
  EXPECT_EQ(count(svg, "<path"), 2u);
  EXPECT_EQ(count(svg, "<circle"), 2u * 4 + 2);  // plus one in each legend
  const double width = numbers(svg, "width").at(0), height = numbers(svg, "height").at(0);
  for (double x : numbers(svg, "cx")) EXPECT_TRUE(x > 0 && x < width) << x;
  for (double y : numbers(svg, "cy")) EXPECT_TRUE(y > 0 && y < height) << y;
  for (const char* word :
       {">title<", ">subtitle<", ">loss<", ">acc<", ">epoch<", ">0.500<", ">80.0 %<", ">100 %<"}) {
    EXPECT_NE(svg.find(word), std::string::npos) << word;
  }
}

TEST(PlotSvg, ALongCurveHasNoDots) {
  const size_t in_legend = 1;
  EXPECT_EQ(count(draw(std::vector<double>(40, 1), {}), "<circle"), 2 * in_legend + 40);
  EXPECT_EQ(count(draw(std::vector<double>(41, 1), {}), "<circle"), 2 * in_legend);
}

// A larger value is drawn higher (y grows downwards), in proportion to the axis.
TEST(PlotSvg, HeightFollowsTheValue) {
  const std::vector<double> y = numbers(draw({2, 1, 0.5}, {0, 0.5, 1}), "cy");
  ASSERT_EQ(y.size(), 8u);  // the legend's dot, then three points; twice
  EXPECT_NEAR(y[3] - y[1], 1.5 * (y[2] - y[1]), 0.02);
  EXPECT_NEAR(y[6] - y[5], y[7] - y[6], 0.02);
  EXPECT_LT(y[7], y[5]);
}

TEST(PlotSvg, AGapWhereThereIsNoValue) {
  const std::string svg = draw({1, std::nan(""), 1, 1}, {});
  const size_t path = svg.find(" d=\"");
  ASSERT_NE(path, std::string::npos);
  EXPECT_EQ(count(svg.substr(path, svg.find('"', path + 4) - path), "M"), 2u);
}

// The corners of the path of a curve, as pairs of x and y.
std::vector<std::pair<double, double>> corners(const std::string& svg, const std::string& colour) {
  std::vector<std::pair<double, double>> found;
  std::smatch path;
  const std::regex of_colour("<path d=\"([^\"]*)\" fill=\"none\" stroke=\"" + colour + "\"");
  if (!std::regex_search(svg, path, of_colour)) return found;
  std::istringstream words(path[1].str());
  char pen;
  for (double x, y; words >> pen >> x >> y;) found.emplace_back(x, y);
  return found;
}

// The curves of a panel share its axes, and each has its own epochs.
TEST(PlotSvg, SeveralCurvesShareTheAxes) {
  const Panel panel{.name = "loss",
                    .curves = {curve("#111111", {3, 2, 1, 3, 2}), {"#222222", {{2, 2}, {3, 4}, {4, 0}}}}};
  const std::string svg = plot_svg("t", "s", {panel});
  EXPECT_EQ(XmlCheck::fault(svg), "");
  const auto one = corners(svg, "#111111"), two = corners(svg, "#222222");
  ASSERT_EQ(one.size(), 5u);
  ASSERT_EQ(two.size(), 3u);
  EXPECT_EQ(two[0], one[1]);
  EXPECT_EQ(two[1].first, one[2].first);
  EXPECT_EQ(two[2].first, one[3].first);
  const double unit = one[2].second - one[3].second;  // from 1 to 3
  EXPECT_NEAR(two[2].second - two[1].second, 2 * unit, 0.02);
  EXPECT_NEAR(one[4].first - one[0].first, 4 * (one[1].first - one[0].first), 0.02);
  Panel turned = panel;
  std::swap(turned.curves[0], turned.curves[1]);
  const std::string same = plot_svg("t", "s", {turned});
  EXPECT_EQ(corners(same, "#111111"), one) << "the axes are those of one curve";
  EXPECT_EQ(corners(same, "#222222"), two);
  EXPECT_EQ(svg.find(">2.000<"), std::string::npos) << "figures beside several curves would overlap";
}

TEST(PlotSvg, TheLegendMovesThePanelsDown) {
  const std::vector<Panel> panels = {{.name = "loss", .curves = {curve("#111111", {1, 2})}}};
  const std::string plain = plot_svg("t", "s", panels),
                    with = plot_svg("t", "s", panels, {{"#111111", "a < b"}, {"#222222", "c & d"}});
  EXPECT_EQ(XmlCheck::fault(with), "");
  EXPECT_NE(with.find(">a &lt; b<"), std::string::npos);
  EXPECT_NE(with.find(">c &amp; d<"), std::string::npos);
  EXPECT_EQ(count(with, "#222222"), 2u) << "a line and a dot";
  const double moved = numbers(with, "height").at(0) - numbers(plain, "height").at(0);
  EXPECT_GT(moved, 30);
  const auto below = corners(with, "#111111"), above = corners(plain, "#111111");
  ASSERT_EQ(below.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(below[i].first, above[i].first);
    EXPECT_NEAR(below[i].second, above[i].second + moved, 0.02);
  }
}

TEST(Ticks, AreRoundAndReachTheTop) {
  EXPECT_EQ(ticks(1, 5, false).size(), 6u);  // 0, 0.2 ... 1
  EXPECT_EQ(ticks(2.3, 5, false), (std::vector<double>{0, 0.5, 1, 1.5, 2, 2.5}));
  EXPECT_EQ(ticks(10, 10, true).size(), 11u);
  EXPECT_EQ(ticks(3, 10, true), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(ticks(100, 10, true)[1], 10);
  for (double top : {1e-9, 0.3, 0.7, 7.0, 1e9}) {
    const std::vector<double> t = ticks(top, 5, false);
    EXPECT_GE(t.back(), top * (1 - 1e-9));
    EXPECT_LE(t.size(), 7u);
    EXPECT_GE(t.size(), 3u);
  }
}

}  // namespace
}  // namespace rondo::program
