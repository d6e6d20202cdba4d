#include <cmath>

#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

constexpr float kBatchNormEpsilon = 1e-3f;

void fill_batch_norm(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int rows = sizes["rows"], channels = sizes["channels"];
  const auto width = static_cast<size_t>(channels), height = static_cast<size_t>(rows);
  // Every second channel has a mean near 1000: the squares are a million times the variance.
  std::vector<float> x = random.floats(int64_t{rows} * channels);
  for (size_t i = 0; i < x.size(); ++i) x[i] += i % width % 2 == 0 ? 1000.0f : 0.0f;
  const std::vector<float> gamma = random.floats(channels, 0.5f, 1.5f), beta = random.floats(channels);
  // A float near 1000 rounds by 3e-5; a sum of thousands of them in any order leaves an error of some 1e-3 in
  // the mean, which y has divided by the deviation, about 0.6, and the variance only squared.
  Expected y{.values = std::vector<double>(x.size()), .absolute = 1e-2};
  Expected mean{.values = {}, .absolute = 1e-5, .relative = 5e-6}, variance{.values = {}, .absolute = 1e-3};
  KnownMistake unbiased{{}, "", "the sum of the squares is divided by rows - 1, and must be divided by rows"};
  for (size_t c = 0; c < width; ++c) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < height; ++i) sum += x[i * width + c];
    const double center = sum / rows;
    for (size_t i = 0; i < height; ++i) squares += std::pow(x[i * width + c] - center, 2);
    mean.values.push_back(center);
    variance.values.push_back(squares / rows);
    unbiased.values.push_back(squares / (rows - 1));
    const double factor = gamma[c] / std::sqrt(squares / rows + static_cast<double>(kBatchNormEpsilon));
    for (size_t i = 0; i < height; ++i)
      y.values[i * width + c] = (x[i * width + c] - center) * factor + beta[c];
  }
  to.input("x", x);
  to.input("gamma", gamma);
  to.input("beta", beta);
  to.output<float>("mean", mean);
  Argument& of_variance = to.output<float>("variance", variance);
  if (rows > 1) of_variance.mistakes = {unbiased};
  to.output<float>("y", y);
  to.scalar("rows", rows);
  to.scalar("channels", channels);
  to.scalar("epsilon", kBatchNormEpsilon);
}

}  // namespace

Problem batch_norm_problem() {
  return {.name = "batch_norm",
          .title = "Batch normalisation",
          .idea = "reductions over columns, and a variance that does not cancel",
          .declaration =
              "void batch_norm(const float* x, const float* gamma, const float* beta, float* mean, "
              "float* variance, float* y, int rows, int channels, float epsilon)",
          .sizes = {{{"rows", 1}, {"channels", 1}},
                    {{"rows", 2}, {"channels", 3}},
                    {{"rows", 33}, {"channels", 32}},
                    {{"rows", 100}, {"channels", 7}},
                    {{"rows", 1000}, {"channels", 65}}},
          .counted = {{"rows", 4096}, {"channels", 256}},
          .fill = fill_batch_norm};
}

}  // namespace rondo::program
