#include <gtest/gtest.h>
#include <rondo/tests/program/xml.h>
#include <rondo/tools/rondo/plot_svg.h>

#include <cmath>
#include <limits>

namespace rondo::program {
namespace {

using test::XmlCheck;

std::string draw(const std::vector<double>& loss, const std::vector<double>& accuracy,
                 const std::string& title = "title") {
  return plot_svg(title, "subtitle",
                  {{.name = "loss", .colour = "#2a6fdb", .values = loss},
                   {.name = "acc", .colour = "#e4572e", .values = accuracy, .top = 1, .as_percent = true}});
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// All numbers of an attribute such as cx="12.5".
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

TEST(PlotSvg, IsWellFormedWhateverTheValues) {
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

TEST(PlotSvg, DrawsEveryPointInsideThePicture) {
  const std::string svg = draw({2.3, 1.2, 0.8, 0.5}, {0.1, 0.5, 0.7, 0.8});
  EXPECT_EQ(count(svg, "<path"), 2u);
  EXPECT_EQ(count(svg, "<circle"), 2u * 4 + 2);  // and one in each legend
  const double width = numbers(svg, "width").at(0), height = numbers(svg, "height").at(0);
  for (double x : numbers(svg, "cx")) EXPECT_TRUE(x > 0 && x < width) << x;
  for (double y : numbers(svg, "cy")) EXPECT_TRUE(y > 0 && y < height) << y;
  for (const char* word :
       {">title<", ">subtitle<", ">loss<", ">acc<", ">epoch<", ">0.500<", ">80.0 %<", ">100 %<"}) {
    EXPECT_NE(svg.find(word), std::string::npos) << word;
  }
}

// A larger value stands higher (y grows downwards), and the axis reads what the points say.
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
