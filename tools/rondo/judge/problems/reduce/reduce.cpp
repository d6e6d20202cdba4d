#include <rondo/kernels/core/status.h>

#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

// Multiples of 1/8 from 1/8 to 1: every sum of up to 2^21 of them is a float. Any order of the additions
// gives the exact sum, and an element that is missing or counted twice changes it.
void fill_reduce(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int n = sizes["n"];
  std::vector<float> in(static_cast<size_t>(n));
  double sum = 0;
  std::vector<KnownMistake> mistakes;
  for (size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<float>(random.integer(1, 8)) / 8;
    sum += in[i];
    if (const size_t count = i + 1; count >= 32 && count <= 1024 && (count & (count - 1)) == 0)
      mistakes.push_back(
          {.values = {sum},
           .section = "",
           .hint = concat("it is the sum of the first ", count,
                          " elements: the sums of the other warps or blocks must be added, too")});
  }
  to.input("in", in);
  to.output<float>("result", {.values = {sum}}).mistakes = std::move(mistakes);
  to.scalar("n", n);
}

}  // namespace

Problem reduce_problem() {
  return {.name = "reduce",
          .title = "Reduction",
          .idea = "sums of warps, of blocks, and of the grid",
          .declaration = "void reduce(const float* in, float* result, int n)",
          .sizes = {{{"n", 1}}, {{"n", 31}}, {{"n", 33}}, {{"n", 1000}}, {{"n", 4096}}, {{"n", 70001}}},
          .counted = {{"n", 1 << 20}},
          .fill = fill_reduce};
}

}  // namespace rondo::program
