// What the problems of matrix products have in common.
#pragma once

#include <rondo/tools/rondo/judge/case.h>

#include <vector>

namespace rondo::program {

// a b, with any bound of the errors that the order of the additions can cause.
Expected expected_product(const std::vector<double>& a, const std::vector<double>& b, int m, int n, int k);

// Draws a and b, of float32: the arguments of matmul(a, b, c, m, n, k).
void fill_product(const Sizes& sizes, CaseRandom& random, Case& to);

// From 1 x 1 times 1 x 1 to several tiles of 64 x 64.
std::vector<Sizes> sizes_of_products();

}  // namespace rondo::program
