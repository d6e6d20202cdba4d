#include <rondo/tools/rondo/judge/timeline.h>

#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

void fill_overlapped_sum(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int n = sizes["n"];
  const std::vector<float> a = random.floats(n), b = random.floats(n);
  // One addition of values below 1: a rounding is at most 2^-24.
  Expected sum{.values = {}, .absolute = 1e-7};
  for (size_t i = 0; i < a.size(); ++i) sum.values.push_back(static_cast<double>(a[i]) + b[i]);
  to.input("a", a, Place::pinned);
  to.input("b", b, Place::pinned);
  to.output<float>("sum", sum, Place::pinned);
  to.scalar("n", n);
}

// Two arrays to the device, the longer direction.
double overlapped_sum_bound(const Sizes& sizes, const simt::GpuProperties& gpu) {
  return 8.0 * sizes["n"] / links_of(gpu).host;
}

}  // namespace

Problem overlapped_sum_problem() {
  return {.name = "overlapped_sum",
          .title = "Sum with overlapped copies",
          .idea = "copies to the device, kernels and copies back at the same time, in streams",
          .declaration = "void overlapped_sum(const float* a, const float* b, float* sum, int n)",
          .sizes = {{{"n", 1}}, {{"n", 7}}, {{"n", 1000}}, {{"n", 10007}}, {{"n", 300001}}},
          .counted = {{"n", 1 << 21}},
          .fill = fill_overlapped_sum,
          .bound = overlapped_sum_bound};
}

}  // namespace rondo::program
