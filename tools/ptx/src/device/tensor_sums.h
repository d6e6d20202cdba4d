// The rounding of sums of products in tensor cores.
#pragma once

#include <cmath>

#include "interpreter.h"

namespace ptx {

inline float tensor_sum(double exact, TensorSums sums) {
  const float nearest = static_cast<float>(exact);
  if (sums == TensorSums::truncated && std::fabs(double{nearest}) > std::fabs(exact))
    return std::nextafter(nearest, 0.0f);
  return nearest;
}

// TensorSums::aligned: d[j] += a[0] * b[0][j] + ... + a[k - 1] * b[k - 1][j], for `columns` columns; row q of
// b begins b_stride elements behind the one before. d has floats before and after.
void add_aligned_products(const float* a, const float* b, int b_stride, int k, int columns, double* d);

}  // namespace ptx
