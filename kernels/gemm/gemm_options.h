// The shape and the options of a matrix product.
#pragma once

#include <rondo/kernels/core/math_mode.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

namespace rondo {

struct GemmOptions {
  bool transpose_a = false;        // op(A) = A^T: the view `a` is k x m
  bool transpose_b = false;        // op(B) = B^T: the view `b` is n x k
  float alpha = 1;                 // 0: A and B are not read (their views are still checked)
  float beta = 0;                  // 0: C is not read
  VectorView<const float> bias{};  // n values, added to every row; none if data is null
  bool relu = false;               // applied last: max(value, 0); NaN stays NaN
  Math math = Math::fp32;          // of the products; alpha, beta, bias and ReLU are always fp32
};

// The sizes m, n, k of a product. Each result is a sum of k products.
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

}  // namespace rondo
