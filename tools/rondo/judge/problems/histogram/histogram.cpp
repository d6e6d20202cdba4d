#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

void fill_histogram(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int n = sizes["n"];
  const std::vector<uint8_t> in = random.integers<uint8_t>(n, 0, 255);
  Expected counts{.values = std::vector<double>(256)};
  for (const uint8_t byte : in) ++counts.values[byte];
  std::vector<double> whole_words = counts.values;
  for (int i = n / 4 * 4; i < n; ++i) --whole_words[in[static_cast<size_t>(i)]];
  to.input("in", in);
  to.output<unsigned>("counts", counts)
      .mistakes.push_back({.values = whole_words,
                           .section = "",
                           .hint = "the last n % 4 bytes are not counted: n is not always a multiple of 4"});
  to.scalar("n", n);
}

}  // namespace

Problem histogram_problem() {
  return {.name = "histogram",
          .title = "Histogram",
          .idea = "atomic additions, and private counts in shared memory",
          .declaration = "void histogram(const unsigned char* in, unsigned* counts, int n)",
          .sizes = {{{"n", 1}}, {{"n", 31}}, {{"n", 1000}}, {{"n", 4097}}, {{"n", 100003}}},
          .counted = {{"n", 1 << 21}},
          .fill = fill_histogram};
}

}  // namespace rondo::program
