#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

// Four additions of values below 5 and a product with a rounded 0.2f are within 6 half units of 2^-24 at 1.
constexpr double kStencilError = 4e-7;

void fill_stencil(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int rows = sizes["rows"], columns = sizes["columns"];
  const std::vector<float> in = random.floats(int64_t{rows} * columns);
  const auto at = [&](int i, int j) -> double {
    if (i < 0 || i >= rows || j < 0 || j >= columns) return 0;
    return in[static_cast<size_t>(i) * static_cast<size_t>(columns) + static_cast<size_t>(j)];
  };
  Expected out{.values = {}, .absolute = kStencilError};
  std::vector<double> zeros_outside;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      const double mean = (at(i, j) + at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1)) / 5;
      const bool border = i == 0 || i == rows - 1 || j == 0 || j == columns - 1;
      out.values.push_back(border ? at(i, j) : mean);
      zeros_outside.push_back(mean);
    }
  }
  to.input("in", in);
  to.output<float>("out", out)
      .mistakes.push_back(
          {.values = zeros_outside,
           .section = "",
           .hint = "the border was computed with zeros outside of the matrix: it must be copied"});
  to.scalar("rows", rows);
  to.scalar("columns", columns);
}

}  // namespace

Problem stencil_problem() {
  return {.name = "stencil",
          .title = "Five-point stencil",
          .idea = "tiles with a halo in shared memory",
          .declaration = "void stencil(const float* in, float* out, int rows, int columns)",
          .sizes = {{{"rows", 1}, {"columns", 1}},
                    {{"rows", 2}, {"columns", 40}},
                    {{"rows", 3}, {"columns", 3}},
                    {{"rows", 35}, {"columns", 70}},
                    {{"rows", 100}, {"columns", 257}}},
          .counted = {{"rows", 1024}, {"columns", 1024}},
          .fill = fill_stencil};
}

}  // namespace rondo::program
