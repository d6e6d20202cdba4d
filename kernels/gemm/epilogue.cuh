// The epilogue of a tile: computes the stored values from the accumulated sums.
#pragma once

#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/core/vec.cuh>

#include <algorithm>
#include <cstdint>

namespace rondo {

struct Epilogue {
  float alpha = 1;
  float beta = 0;               // 0: the old value is not read
  const float* bias = nullptr;  // per column; null for none
  bool relu = false;
  bool aligned = false;  // rows of the result begin at multiples of 16 bytes

  __device__ __forceinline__ float value(float sum, int64_t column, const float* old) const {
    float result = alpha * sum;
    if (beta != 0) result += beta * *old;
    if (bias != nullptr) result += bias[column];
    return relu && result < 0 ? 0 : result;  // keeps NaN: it is not below 0
  }

  // Stores N columns of the row `row`, from `column` on. Columns at or beyond `columns` are not stored.
  template <int N>
  __device__ __forceinline__ void store_row(float* row, int64_t column, int64_t columns,
                                            const Vec<N>& sums) const {
    float* to = row + column;
    const int64_t count = columns - column;
    Vec<N> result = sums;
    result.scale(alpha);
    if (beta != 0) result.add_product(beta, Vec<N>::load_some(to, count));
    if (bias != nullptr) result.add(Vec<N>::load_some(bias + column, count));
    if (relu) result.relu();
    if (aligned && count >= N)
      result.store(to);
    else
      result.store_some(to, count);
  }
};

// The widest copy (64, 16, 4, 2 or 1 floats) for rows of `length` floats at distance `stride`. Copies of more
// than 4 floats need only the alignment of 4 floats. A kernel with narrower copies makes several per width.
inline int copy_width(const float* data, int64_t stride, int64_t length) {
  for (const int width : {64, 16, 4, 2})
    if (reinterpret_cast<uintptr_t>(data) % (4 * std::min(width, 4)) == 0 && stride % width == 0 &&
        length % width == 0)
      return width;
  return 1;
}

inline Epilogue gemm_epilogue(const GemmArguments& g) {
  return {g.alpha, g.beta, g.bias, g.relu, copy_width(g.c, g.c_stride, 4) == 4};
}

}  // namespace rondo
