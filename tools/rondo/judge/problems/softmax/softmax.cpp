#include "rondo_judge_problems.h"

#include <algorithm>
#include <cmath>

namespace rondo::program {
namespace {

// exp() of these rows overflows, underflows, or does neither.
constexpr float kOffsets[] = {1000, -1000, 0};

void fill_softmax(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int rows = sizes["rows"], columns = sizes["columns"];
  std::vector<float> in;
  // __expf() of -4 to 0 is within 2e-6, and a sum of n floats, added one after another, within n 2^-24.
  Expected out{.values = {}, .absolute = 0, .relative = 2e-6 + columns * 0x1p-24};
  std::vector<double> overflowed, max_from_zero;
  for (int i = 0; i < rows; ++i) {
    std::vector<float> row = random.floats(columns, -2, 2);
    const float offset = kOffsets[i % 3];
    for (float& value : row) value += offset;
    const double max = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const float value : row) sum += std::exp(value - max);
    for (const float value : row) {
      out.values.push_back(std::exp(value - max) / sum);
      overflowed.push_back(offset == 0 ? out.values.back() : NAN);
      max_from_zero.push_back(offset >= 0 ? out.values.back() : NAN);
    }
    in.insert(in.end(), row.begin(), row.end());
  }
  to.input("in", in);
  to.output<float>("out", out).mistakes = {
      {.values = overflowed,
       .section = "",
       .hint = "exp(1000) is infinite and exp(-1000) is 0: subtract the maximum of the row before exp()"},
      {.values = max_from_zero,
       .section = "",
       .hint = "the maximum of a row of negative elements was taken to be 0: begin with -INFINITY"}};
  to.scalar("rows", rows);
  to.scalar("columns", columns);
}

}  // namespace

Problem softmax_problem() {
  return {.name = "softmax",
          .title = "Softmax",
          .idea = "two reductions of each row, without an overflow",
          .declaration = "void softmax(const float* in, float* out, int rows, int columns)",
          .sizes = {{{"rows", 1}, {"columns", 1}},
                    {{"rows", 3}, {"columns", 2}},
                    {{"rows", 2}, {"columns", 33}},
                    {{"rows", 5}, {"columns", 1000}},
                    {{"rows", 3}, {"columns", 3001}},
                    {{"rows", 300}, {"columns", 64}}},
          .counted = {{"rows", 1024}, {"columns", 1024}},
          .fill = fill_softmax};
}

}  // namespace rondo::program
