#include <algorithm>
#include <cmath>

#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

struct ConvolutionSizes {
  int images, channels, filters, height, width;
};

// With `turned` filters, as in mathematics.
Expected expected_convolution(const ConvolutionSizes& of, const std::vector<float>& x,
                              const std::vector<float>& w, bool turned) {
  Expected y;
  double largest = 0;
  const auto plane = static_cast<size_t>(of.height) * static_cast<size_t>(of.width);
  for (int image = 0; image < of.images; ++image) {
    for (int filter = 0; filter < of.filters; ++filter) {
      std::vector<double> sums(plane), magnitudes(plane);
      for (int channel = 0; channel < of.channels; ++channel) {
        const float* const from = x.data() + static_cast<size_t>(image * of.channels + channel) * plane;
        const float* const weights = w.data() + static_cast<size_t>(filter * of.channels + channel) * 9;
        for (int place = 0; place < 9; ++place) {
          const int r = place / 3 - 1, s = place % 3 - 1;
          const double weight = weights[turned ? 8 - place : place];
          for (int i = std::max(0, -r); i < std::min(of.height, of.height - r); ++i) {
            for (int j = std::max(0, -s); j < std::min(of.width, of.width - s); ++j) {
              const auto to = static_cast<size_t>(i) * static_cast<size_t>(of.width) + static_cast<size_t>(j);
              const double product = weight * from[(i + r) * of.width + j + s];
              sums[to] += product, magnitudes[to] += std::abs(product);
            }
          }
        }
      }
      y.values.insert(y.values.end(), sums.begin(), sums.end());
      largest = std::max(largest, *std::max_element(magnitudes.begin(), magnitudes.end()));
    }
  }
  // A sum of t products in any order differs by less than t 2^-24 times the sum of the magnitudes.
  y.absolute = 1.01 * 9 * of.channels * 0x1p-24 * largest;
  return y;
}

void fill_conv2d(const Sizes& sizes, CaseRandom& random, Case& to) {
  const ConvolutionSizes of = {sizes["images"], sizes["channels"], sizes["filters"], sizes["height"],
                               sizes["width"]};
  const int64_t pixels = int64_t{of.images} * of.height * of.width;
  const std::vector<float> x = random.floats(pixels * of.channels),
                           w = random.floats(int64_t{of.filters} * of.channels * 9);
  to.flops = 2.0 * 9 * of.channels * of.filters * static_cast<double>(pixels);
  to.input("x", x);
  to.input("w", w);
  Argument& y = to.output<float>("y", expected_convolution(of, x, w, false));
  y.mistakes.push_back(
      {expected_convolution(of, x, w, true).values, "",
       "the filters are turned by 180 degrees: w[..][r][s] belongs to x[..][i + r - 1][j + s - 1]"});
  for (const auto& [name, value] : sizes.all()) to.scalar(std::string(name), value);
}

}  // namespace

Problem conv2d_problem() {
  return {.name = "conv2d",
          .title = "Convolution",
          .idea = "tiles with a halo, and several filters in registers",
          .declaration =
              "void conv2d(const float* x, const float* w, float* y, int images, int channels, "
              "int filters, int height, int width)",
          .sizes = {{{"images", 1}, {"channels", 1}, {"filters", 1}, {"height", 1}, {"width", 1}},
                    {{"images", 1}, {"channels", 2}, {"filters", 3}, {"height", 1}, {"width", 5}},
                    {{"images", 2}, {"channels", 1}, {"filters", 2}, {"height", 9}, {"width", 2}},
                    {{"images", 2}, {"channels", 3}, {"filters", 5}, {"height", 33}, {"width", 35}},
                    {{"images", 1}, {"channels", 4}, {"filters", 8}, {"height", 32}, {"width", 64}}},
          .counted = {{"images", 3}, {"channels", 8}, {"filters", 36}, {"height", 64}, {"width", 64}},
          .fill = fill_conv2d};
}

}  // namespace rondo::program
