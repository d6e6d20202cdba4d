// Moments of a column: the mean of its values, and the sum of the squares of their differences from the mean.
//
// A kernel that has a part of a matrix in registers computes the moments of that part's columns. Then
// add_partial_moments() (moments.h) combines the parts. Floats suffice within a part: differences from a
// value of the column are small even where the mean is large, unlike the squares of the values.
#pragma once

#include <rondo/kernels/reduce/moments.h>

namespace rondo {

// Those of one column, in one thread. The differences are from the first value; they give the moments by
// Steiner's theorem.
struct ColumnMoments {
  float first = 0, sum = 0, squares = 0;
  int rows = 0;

  __device__ __forceinline__ void add(float value) {
    if (rows == 0) first = value;
    const float difference = value - first;
    sum += difference;
    squares = fmaf(difference, difference, squares);
    ++rows;
  }
  // Without rows both are 0.
  __device__ __forceinline__ float mean() const {
    return rows > 0 ? first + sum / static_cast<float>(rows) : 0;
  }
  __device__ __forceinline__ float squared_deviations() const {
    const float result = rows > 0 ? squares - sum * (sum / static_cast<float>(rows)) : 0;
    return result < 0 ? 0 : result;  // keeps NaN
  }
};

// One thread calls it for each column of each part. All columns of a part have the same rows.
__device__ __forceinline__ void put_moments(const PartialMoments& to, int64_t part, int64_t column,
                                            const ColumnMoments& moments) {
  if (column >= to.columns) return;
  to.means(part)[column] = moments.mean();
  to.squared_deviations(part)[column] = moments.squared_deviations();
  if (column == 0) to.rows[part] = moments.rows;
}

}  // namespace rondo
