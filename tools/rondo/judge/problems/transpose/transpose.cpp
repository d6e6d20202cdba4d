#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

void fill_transpose(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int rows = sizes["rows"], columns = sizes["columns"];
  const std::vector<float> in = random.floats(int64_t{rows} * columns);
  Expected out{.values = std::vector<double>(in.size())};
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      out.values[static_cast<size_t>(j) * static_cast<size_t>(rows) + static_cast<size_t>(i)] =
          in[static_cast<size_t>(i) * static_cast<size_t>(columns) + static_cast<size_t>(j)];
  to.input("in", in);
  to.output<float>("out", out);
  to.scalar("rows", rows);
  to.scalar("columns", columns);
}

}  // namespace

Problem transpose_problem() {
  return {.name = "transpose",
          .title = "Transposition",
          .idea = "coalesced reads and writes, through shared memory",
          .declaration = "void transpose(const float* in, float* out, int rows, int columns)",
          .sizes = {{{"rows", 1}, {"columns", 1}},
                    {{"rows", 1}, {"columns", 40}},
                    {{"rows", 33}, {"columns", 7}},
                    {{"rows", 64}, {"columns", 64}},
                    {{"rows", 100}, {"columns", 257}}},
          .counted = {{"rows", 1024}, {"columns", 1024}},
          .fill = fill_transpose};
}

}  // namespace rondo::program
