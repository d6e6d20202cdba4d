// The picture of a roofline: nothing is cut off, and no number covers another.
#include <gtest/gtest.h>
#include <rondo/kernels/core/text.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/profile/roofline_svg.h>

#include <cmath>
#include <regex>
#include <vector>

namespace rondo::program {
namespace {

struct PictureText {
  double x, y, size;
  std::string anchor, content;

  double width() const { return 0.57 * size * static_cast<double>(content.size()); }
  double left() const { return anchor == "start" ? x : anchor == "end" ? x - width() : x - width() / 2; }
  double right() const { return left() + width(); }
};

std::vector<PictureText> texts_of(const std::string& svg) {
  static const std::regex text(
      "<text x=\"([0-9.]+)\" y=\"([0-9.]+)\" text-anchor=\"([a-z]+)\" font-size=\"([0-9.]+)\"[^>]*>([^<]*)<");
  std::vector<PictureText> texts;
  for (std::sregex_iterator it(svg.begin(), svg.end(), text), end; it != end; ++it)
    texts.push_back({std::stod((*it)[1]), std::stod((*it)[2]), std::stod((*it)[4]), (*it)[3], (*it)[5]});
  return texts;
}

Roofline crowded() {
  Roofline roofline{
      .title = "a training step", .subtitle = "forecast", .peaks = {}, .ceilings = {}, .points = {}};
  roofline.peaks = {{"fp32 FMA", 67e12}, {"tf32 tensor cores", 494e12}, {"fp16 tensor cores", 989e12}};
  roofline.ceilings = {{"memory 3.35 TB/s", 3.35e12}, {"data in L2 5.50 TB/s", 5.5e12}};
  for (int i = 0; i < 40; ++i)
    roofline.points.push_back({concat("a_kernel_with_quite_a_long_name_of_its_own, ", i, " blocks"),
                               10 * std::pow(1.07, i % 20), 4e13 * std::pow(0.97, i % 7)});
  return roofline;
}

TEST(RooflineSvg, NothingIsCutOff) {
  const std::string svg = roofline_svg(crowded());
  EXPECT_EQ(test::XmlCheck::fault(svg), "");
  const double width = std::stod(svg.substr(svg.find(" width=\"") + 8));
  const double height = std::stod(svg.substr(svg.find(" height=\"") + 9));
  const std::vector<PictureText> texts = texts_of(svg);
  ASSERT_GT(texts.size(), 80u);  // 40 kernels, each in the picture and in the legend
  for (const PictureText& text : texts) {
    EXPECT_GE(text.left(), 0) << text.content;
    EXPECT_LE(text.right(), width) << text.content;
    EXPECT_LE(text.y, height - 4) << text.content;
  }
  EXPECT_EQ(test::missing(
                svg, {"fp32 FMA", "tf32 tensor cores", "fp16 tensor cores", "memory 3.35 TB/s",
                      "data in L2 5.50 TB/s", "40  a_kernel_with_quite_a_long_name_of_its_own, 39 blocks"}),
            "");
}

// Numbers are bold, and each is written twice: an outline and the text.
TEST(RooflineSvg, NumbersDoNotOverlap) {
  const std::string svg = roofline_svg(crowded());
  static const std::regex number(
      "<text x=\"([0-9.]+)\" y=\"([0-9.]+)\" text-anchor=\"middle\" font-size=\"13\" fill=\"#1f2933\" "
      "font-weight=\"700\">([^<]*)<");
  std::vector<PictureText> numbers;
  std::string all;
  for (std::sregex_iterator it(svg.begin(), svg.end(), number), end; it != end; ++it) {
    numbers.push_back({std::stod((*it)[1]), std::stod((*it)[2]), 13, "middle", (*it)[3]});
    all += ", " + numbers.back().content + ",";
  }
  for (int i = 1; i <= 40; ++i) EXPECT_NE(all.find(concat(" ", i, ",")), std::string::npos) << i;
  for (size_t a = 0; a < numbers.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      const bool apart = numbers[a].right() <= numbers[b].left() || numbers[b].right() <= numbers[a].left() ||
                         std::abs(numbers[a].y - numbers[b].y) >= 12;
      EXPECT_TRUE(apart) << numbers[a].content << " and " << numbers[b].content;
    }
}

TEST(RooflineSvg, EqualPointsShareANumber) {
  Roofline roofline = crowded();
  roofline.points = {{"a", 10, 1e12}, {"b", 10, 1e12}, {"c", 90, 1e12}};
  EXPECT_EQ(test::missing(roofline_svg(roofline), {">1, 2<", ">3<", ">1  a<", ">2  b<"}), "");
}

}  // namespace
}  // namespace rondo::program
