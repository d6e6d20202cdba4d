#include <rondo/tools/rondo/judge/problems/matmul/product.h>

#include <algorithm>

#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

std::vector<double> values_of(const std::vector<uint16_t>& halves) {
  std::vector<double> values;
  for (const uint16_t bits : halves) values.push_back(half_value(bits));
  return values;
}

// With each tile of 16 x 16 transposed.
std::vector<double> with_transposed_tiles(const std::vector<double>& matrix, int rows, int columns) {
  std::vector<double> result(matrix.size());
  const auto step = static_cast<size_t>(columns);
  for (size_t i = 0; i < static_cast<size_t>(rows); ++i)
    for (size_t j = 0; j < step; ++j)
      result[i * step + j] = matrix[(i / 16 * 16 + j % 16) * step + j / 16 * 16 + i % 16];
  return result;
}

void fill_tensor_cores(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int m = sizes["m"], n = sizes["n"], k = sizes["k"];
  const std::vector<uint16_t> a = random.halves(int64_t{m} * k), b = random.halves(int64_t{k} * n);
  const std::vector<double> a_values = values_of(a), b_values = values_of(b);
  Expected c = expected_product(a_values, b_values, m, n, k);
  c.absolute *= 2;  // tensor cores may truncate their sums: twice the error of rounding
  to.input("a", a);
  to.input("b", b);
  Argument& result = to.output<float>("c", c);
  const auto add_mistake = [&](const std::vector<double>& left, const std::vector<double>& right,
                               const char* hint) {
    result.mistakes.push_back({expected_product(left, right, m, n, k).values, "", hint});
  };
  add_mistake(
      a_values, with_transposed_tiles(b_values, k, n),
      "each 16 x 16 tile of b is transposed: the rows of b are contiguous, so its fragment is row_major");
  add_mistake(
      with_transposed_tiles(a_values, m, k), b_values,
      "each 16 x 16 tile of a is transposed: the rows of a are contiguous, so its fragment is row_major");
  to.scalar("m", m);
  to.scalar("n", n);
  to.scalar("k", k);
}

// The peak of the tensor cores, or the memory.
double bound_of_tensor_cores(const Sizes& sizes, const simt::GpuProperties& gpu) {
  const double m = sizes["m"], n = sizes["n"], k = sizes["k"];
  const double bytes = 2 * m * k + 2 * k * n + 4 * m * n;
  return std::max(bytes / (gpu.dram_gb_s * 1e9), 2 * m * n * k / (gpu.fp16_tflops * 1e12));
}

std::string missing_tensor_cores(const simt::ProgramProfile& profile) {
  const auto multiplies = [](const simt::KernelProfile& kernel) { return kernel.narrow_multiply_adds > 0; };
  return std::any_of(profile.kernels.begin(), profile.kernels.end(), multiplies)
             ? ""
             : "tensor cores must multiply (nvcuda::wmma)";
}

}  // namespace

Problem matmul_tensor_cores_problem() {
  return {
      .name = "matmul_tensor_cores",
      .title = "Matrix product with tensor cores",
      .idea = "a warp multiplies 16 x 16 tiles, from float16 to float32",
      .declaration = "void matmul_tensor_cores(const half* a, const half* b, float* c, int m, int n, int k)",
      .sizes = {{{"m", 16}, {"n", 16}, {"k", 16}},
                {{"m", 16}, {"n", 48}, {"k", 32}},
                {{"m", 80}, {"n", 16}, {"k", 48}},
                {{"m", 64}, {"n", 64}, {"k", 64}},
                {{"m", 144}, {"n", 80}, {"k", 112}}},
      .counted = {{"m", 768}, {"n", 576}, {"k", 64}},
      .fill = fill_tensor_cores,
      .bound = bound_of_tensor_cores,
      .missing = missing_tensor_cores};
}

}  // namespace rondo::program
