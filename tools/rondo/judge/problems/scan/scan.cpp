#include <rondo/kernels/core/status.h>

#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

void fill_scan(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int n = sizes["n"];
  const std::vector<int> in = random.integers<int>(n, -99, 100);
  Expected out{.values = std::vector<double>(in.size())};
  std::vector<double> exclusive(in.size());
  double sum = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    exclusive[i] = sum;
    out.values[i] = sum += in[i];
  }
  to.input("in", in);
  Argument& result = to.output<int>("out", out);
  result.mistakes.push_back(
      {.values = exclusive, .section = "", .hint = "it is the exclusive scan: out[i] must contain in[i]"});
  // Blocks that do not add what is before them.
  for (size_t block = 32; block <= 2048 && block < in.size(); block *= 2) {
    std::vector<double> values(in.size());
    for (size_t i = 0; i < in.size(); ++i) values[i] = in[i] + (i % block == 0 ? 0 : values[i - 1]);
    result.mistakes.push_back(
        {.values = values,
         .section = "",
         .hint = concat("each ", block, " elements begin with 0: add the sum of all elements before them")});
  }
  to.scalar("n", n);
}

}  // namespace

Problem scan_problem() {
  return {.name = "scan",
          .title = "Prefix sums",
          .idea = "scans of warps, of blocks, and of the grid",
          .declaration = "void scan(const int* in, int* out, int n)",
          .sizes = {{{"n", 1}}, {{"n", 2}}, {{"n", 33}}, {{"n", 1000}}, {{"n", 1025}}, {{"n", 70001}}},
          .counted = {{"n", 1 << 20}},
          .fill = fill_scan};
}

}  // namespace rondo::program
