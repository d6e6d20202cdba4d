#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

void fill_vector_add(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int n = sizes["n"];
  const std::vector<float> a = random.floats(n), b = random.floats(n);
  Expected sum{.values = {}, .absolute = 1e-7, .relative = 1e-6};
  for (size_t i = 0; i < a.size(); ++i) sum.values.push_back(static_cast<double>(a[i]) + b[i]);
  to.input("a", a);
  to.input("b", b);
  to.output<float>("sum", sum);
  to.scalar("n", n);
}

}  // namespace

Problem vector_add_problem() {
  return {.name = "vector_add",
          .title = "Vector addition",
          .idea = "one thread for each element, and the last block",
          .declaration = "void vector_add(const float* a, const float* b, float* sum, int n)",
          .sizes = {{{"n", 1}}, {{"n", 2}}, {{"n", 31}}, {{"n", 255}}, {{"n", 1000}}, {{"n", 65537}}},
          .counted = {{"n", 1 << 20}},
          .fill = fill_vector_add};
}

}  // namespace rondo::program
