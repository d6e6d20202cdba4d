#include <algorithm>
#include <cmath>
#include <limits>

#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

void fill_cross_entropy(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int rows = sizes["rows"], classes = sizes["classes"];
  const auto width = static_cast<size_t>(classes);
  // Every second row has logits whose exp() overflows.
  constexpr float kSmall = 3, kLarge = 120;
  std::vector<float> logits;
  for (int i = 0; i < rows; ++i) {
    const float most = i % 2 == 0 ? kLarge : kSmall;
    const std::vector<float> row = random.floats(classes, -most, most);
    logits.insert(logits.end(), row.begin(), row.end());
  }
  const std::vector<int> labels = random.integers<int>(rows, 0, classes - 1);
  // Differences of logits below 240 round by 2^-17, about 8e-6, which exp() passes on as a relative error.
  // The loss has one or two such roundings; a probability divided by rows is at most 1 / rows.
  Expected losses{.values = {}, .absolute = 5e-5}, gradient{.values = {}, .absolute = 3e-5 / rows};
  KnownMistake overflow{
      {}, "", "exp() of a large logit is infinite in float: subtract the largest logit of the row"};
  KnownMistake of_sum{
      {}, "", "this is the gradient of the sum of the losses, and must be that of their mean"};
  KnownMistake no_label{{}, "", "the 1 at the label is not subtracted from the probabilities"};
  for (size_t i = 0; i < labels.size(); ++i) {
    const float* const row = logits.data() + i * width;
    const auto label = static_cast<size_t>(labels[i]);
    const double most = *std::max_element(row, row + width);
    double sum = 0;
    for (size_t c = 0; c < width; ++c) sum += std::exp(row[c] - most);
    losses.values.push_back(std::log(sum) + most - row[label]);
    const bool overflows =
        std::log(sum) + most > std::log(static_cast<double>(std::numeric_limits<float>::max()));
    overflow.values.push_back(overflows ? INFINITY : losses.values.back());
    for (size_t c = 0; c < width; ++c) {
      const double probability = std::exp(row[c] - most) / sum, error = probability - (c == label);
      gradient.values.push_back(error / rows);
      of_sum.values.push_back(error);
      no_label.values.push_back(probability / rows);
    }
  }
  to.input("logits", logits);
  to.input("labels", labels);
  to.output<float>("losses", losses).mistakes = {overflow};
  to.output<float>("gradient", gradient).mistakes = {of_sum, no_label};
  to.scalar("rows", rows);
  to.scalar("classes", classes);
}

}  // namespace

Problem cross_entropy_problem() {
  return {.name = "cross_entropy",
          .title = "Cross-entropy",
          .idea = "a loss and its gradient in one pass, safe for large logits",
          .declaration =
              "void cross_entropy(const float* logits, const int* labels, float* losses, float* gradient, "
              "int rows, int classes)",
          .sizes = {{{"rows", 1}, {"classes", 2}},
                    {{"rows", 3}, {"classes", 1}},
                    {{"rows", 2}, {"classes", 33}},
                    {{"rows", 50}, {"classes", 10}},
                    {{"rows", 7}, {"classes", 1000}},
                    {{"rows", 3}, {"classes", 4096}}},
          .counted = {{"rows", 1024}, {"classes", 1000}},
          .fill = fill_cross_entropy};
}

}  // namespace rondo::program
