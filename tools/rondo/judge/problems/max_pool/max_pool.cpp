#include <algorithm>

#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

// The largest of `start` and of the windows of 2 x 2, which move by `step`.
std::vector<double> maxima(const std::vector<float>& x, int channels, int height, int width, int step,
                           double start) {
  std::vector<double> y;
  for (int channel = 0; channel < channels; ++channel) {
    for (int i = 0; i < height / 2; ++i) {
      for (int j = 0; j < width / 2; ++j) {
        const auto at = [&](int r, int s) {
          return static_cast<double>(x[(static_cast<size_t>(channel) * static_cast<size_t>(height) +
                                        static_cast<size_t>(step * i + r)) *
                                           static_cast<size_t>(width) +
                                       static_cast<size_t>(step * j + s)]);
        };
        y.push_back(std::max({start, at(0, 0), at(0, 1), at(1, 0), at(1, 1)}));
      }
    }
  }
  return y;
}

void fill_max_pool(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int channels = sizes["channels"], height = sizes["height"], width = sizes["width"];
  const std::vector<float> x = random.floats(int64_t{channels} * height * width, -1, 0.2f);
  const double least = -2;
  to.input("x", x);
  Argument& y = to.output<float>("y", {.values = maxima(x, channels, height, width, 2, least)});
  y.mistakes.push_back({maxima(x, channels, height, width, 2, 0), "",
                        "no element is negative: the maximum must begin with an element, not with 0"});
  y.mistakes.push_back({maxima(x, channels, height, width, 1, least), "",
                        "the windows overlap: they must move by 2 rows and 2 columns"});
  to.scalar("channels", channels);
  to.scalar("height", height);
  to.scalar("width", width);
}

}  // namespace

Problem max_pool_problem() {
  return {.name = "max_pool",
          .title = "Max pooling",
          .idea = "two rows in, one row out: what a warp reads and writes",
          .declaration = "void max_pool(const float* x, float* y, int channels, int height, int width)",
          .sizes = {{{"channels", 1}, {"height", 2}, {"width", 2}},
                    {{"channels", 1}, {"height", 3}, {"width", 5}},
                    {{"channels", 3}, {"height", 2}, {"width", 67}},
                    {{"channels", 2}, {"height", 35}, {"width", 4}},
                    {{"channels", 5}, {"height", 31}, {"width", 65}},
                    {{"channels", 4}, {"height", 64}, {"width", 128}}},
          .counted = {{"channels", 64}, {"height", 128}, {"width", 128}},
          .fill = fill_max_pool};
}

}  // namespace rondo::program
