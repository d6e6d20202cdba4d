#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

// Random values everywhere, also in the padding: a sum of the padding differs from what must stay there.
void fill_matrix_add(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int rows = sizes["rows"], columns = sizes["columns"], stride = sizes["stride"];
  const int64_t count = int64_t{rows} * stride;
  const std::vector<float> a = random.floats(count), b = random.floats(count),
                           before = random.floats(count, 2, 3);
  // A rounding to float of a value below 2.
  Expected sum{
      .values = std::vector<double>(before.begin(), before.end()), .absolute = 1e-7, .relative = 1e-6};
  std::vector<double> with_padding(a.size()), dense(before.begin(), before.end());
  for (size_t i = 0; i < a.size(); ++i) {
    with_padding[i] = static_cast<double>(a[i]) + b[i];
    if (static_cast<int>(i % static_cast<size_t>(stride)) < columns) sum.values[i] = with_padding[i];
    if (static_cast<int64_t>(i) < int64_t{rows} * columns) dense[i] = with_padding[i];
  }
  to.input("a", a);
  to.input("b", b);
  Argument& result = to.in_out("sum", before, sum);
  result.mistakes = {
      {.values = with_padding,
       .section = "",
       .hint = "the padding of sum was written: only the first `columns` elements of a row are elements"},
      {.values = dense,
       .section = "",
       .hint = "the rows were taken to be `columns` apart: row i begins at element i * stride"}};
  to.scalar("rows", rows);
  to.scalar("columns", columns);
  to.scalar("stride", stride);
}

// The padding is neither read nor written.
double matrix_add_bound(const Sizes& sizes, const simt::GpuProperties& gpu) {
  return 3.0 * sizeof(float) * sizes["rows"] * sizes["columns"] / (gpu.dram_gb_s * 1e9);
}

}  // namespace

Problem matrix_add_problem() {
  return {
      .name = "matrix_add",
      .title = "Matrix addition",
      .idea = "two-dimensional blocks, and rows with padding",
      .declaration =
          "void matrix_add(const float* a, const float* b, float* sum, int rows, int columns, int stride)",
      .sizes = {{{"rows", 1}, {"columns", 1}, {"stride", 1}},
                {{"rows", 3}, {"columns", 5}, {"stride", 8}},
                {{"rows", 40}, {"columns", 1}, {"stride", 4}},
                {{"rows", 64}, {"columns", 64}, {"stride", 64}},
                {{"rows", 101}, {"columns", 257}, {"stride", 288}}},
      .counted = {{"rows", 1024}, {"columns", 1000}, {"stride", 1024}},
      .fill = fill_matrix_add,
      .bound = matrix_add_bound};
}

}  // namespace rondo::program
