#include <rondo/tools/rondo/judge/problems/matmul/product.h>

#include <algorithm>
#include <cmath>

#include "rondo_judge_problems.h"

namespace rondo::program {

// Let s be the sum of the magnitudes of an element's products. A sum of k rounded products in float, in any
// order, differs from the exact one by less than k 2^-24 s, up to terms of second order. The tolerance is the
// largest of these bounds, and 1 % for those terms.
Expected expected_product(const std::vector<double>& a, const std::vector<double>& b, int m, int n, int k) {
  Expected c;
  const auto rows = static_cast<size_t>(m), columns = static_cast<size_t>(n), steps = static_cast<size_t>(k);
  double largest = 0;
  std::vector<double> sums(columns), magnitudes(columns);
  for (size_t i = 0; i < rows; ++i) {
    std::fill(sums.begin(), sums.end(), 0);
    std::fill(magnitudes.begin(), magnitudes.end(), 0);
    for (size_t l = 0; l < steps; ++l) {
      for (size_t j = 0; j < columns; ++j) {
        const double product = a[i * steps + l] * b[l * columns + j];
        sums[j] += product, magnitudes[j] += std::abs(product);
      }
    }
    c.values.insert(c.values.end(), sums.begin(), sums.end());
    largest = std::max(largest, *std::max_element(magnitudes.begin(), magnitudes.end()));
  }
  c.absolute = 1.01 * k * 0x1p-24 * largest;
  return c;
}

void fill_product(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int m = sizes["m"], n = sizes["n"], k = sizes["k"];
  const std::vector<float> a = random.floats(int64_t{m} * k), b = random.floats(int64_t{k} * n);
  to.flops = 2.0 * m * n * k;
  to.input("a", a);
  to.input("b", b);
  to.output<float>("c", expected_product({a.begin(), a.end()}, {b.begin(), b.end()}, m, n, k));
  to.scalar("m", m);
  to.scalar("n", n);
  to.scalar("k", k);
}

std::vector<Sizes> sizes_of_products() {
  return {{{"m", 1}, {"n", 1}, {"k", 1}},    {{"m", 1}, {"n", 40}, {"k", 3}},
          {{"m", 35}, {"n", 2}, {"k", 33}},  {{"m", 31}, {"n", 65}, {"k", 17}},
          {{"m", 64}, {"n", 64}, {"k", 64}}, {{"m", 130}, {"n", 71}, {"k", 50}}};
}

Problem matmul_problem() {
  return {.name = "matmul",
          .title = "Matrix product",
          .idea = "one thread for each element, and which one",
          .declaration = "void matmul(const float* a, const float* b, float* c, int m, int n, int k)",
          .sizes = sizes_of_products(),
          .counted = {{"m", 768}, {"n", 576}, {"k", 64}},
          .fill = fill_product};
}

}  // namespace rondo::program
