// Moments of columns: the mean of a column's values, and the sum of the squares of their differences from the
// mean.
//
// A thread adds up to a few dozen rows in floats, then the sums of the threads or of the parts of a matrix
// are added in double (moments.h). The squares are those of differences from the column's first value of
// these rows: they are small where the mean is large, unlike the values, whose squares would lose the
// variance in floats. Both sums are compensated (compensated_sum.cuh), so that they also keep their bits if
// the first value is far from all others.
#pragma once

#include <rondo/kernels/core/values.cuh>
#include <rondo/kernels/reduce/compensated_sum.cuh>
#include <rondo/kernels/reduce/partial_moments.h>

#include <cfloat>

namespace rondo {

// The moments of one column of a part. The mean is mean + mean_rest: one float has too few bits if the mean
// is a large multiple of the deviation.
struct PartMoments {
  float mean = 0, mean_rest = 0, squared_deviations = 0;
};

// The moments of N columns, in one thread. T: float, or the 16-bit type of the values, which needs fewer
// instructions and has a few bits less (compensated_sum.cuh).
template <class T, int N>
struct ColumnMoments {
  float first[N] = {}, sum[N] = {}, sum_rest[N] = {}, squares[N] = {}, squares_rest[N] = {};
  int rows = 0;  // the caller of begin() and add() sets it

  __device__ __forceinline__ void begin(const Values<N>& values) {
    RONDO_SIMD
    for (int k = 0; k < N; ++k) first[k] = sum[k] = values.v[k];
  }
  __device__ __forceinline__ void add(const Values<N>& values) {
    RONDO_SIMD
    for (int k = 0; k < N; ++k) {
      const float difference = values.v[k] - first[k];
      add_compensated<T>(sum[k], sum_rest[k], values.v[k]);
      add_compensated_product<T>(squares[k], squares_rest[k], difference, difference);
      // The rounding of the difference d: (d + r)^2 = d^2 + 2 * d * r, without the square of r.
      if constexpr (sizeof(T) == sizeof(float))
        squares_rest[k] =
            fmaf(2 * difference, rounding_of(difference, values.v[k], -first[k]), squares_rest[k]);
    }
  }
  // A value of one column; counts it.
  __device__ __forceinline__ void add(float value) {
    static_assert(N == 1);
    if (rows == 0) first[0] = value;
    add(Values<1>{{value}});
    ++rows;
  }

  // The sums of the values (s = 0) and of their squares (s = 1).
  __device__ __forceinline__ double value(int s, int k) const {
    const double values = compensated_value(sum[k], sum_rest[k]);
    if (s == 0) return values;
    const double pivot = first[k], differences = fma(-static_cast<double>(rows), pivot, values);
    return fma(pivot, values + differences, compensated_value(squares[k], squares_rest[k]));
  }
  // Whether the sums have left the range of floats: a bit for each column. Squares of 0 are those of a
  // constant column, or of differences below 2^-75.
  __device__ __forceinline__ unsigned out_of_range() const {
    unsigned bits = 0;
    RONDO_UNROLL
    for (int k = 0; k < N; ++k) {
      const bool in_range = squares[k] == 0 || (squares[k] >= 0x1p-100f && squares[k] <= FLT_MAX);
      if (!(in_range && fabsf(sum[k]) <= FLT_MAX)) bits |= 1u << k;
    }
    return bits;
  }

  // Without rows all are 0.
  __device__ __forceinline__ PartMoments part(int k) const;
};

// By Steiner's theorem. It subtracts large numbers, so all of them are pairs of floats.
template <class T, int N>
__device__ __forceinline__ PartMoments ColumnMoments<T, N>::part(int k) const {
  // Written as fmaf, so that no compiler fuses the product with a sum, which would round differently.
  const auto product_of = [](float a, float b) { return fmaf(a, b, 0.0f); };
  if (rows == 0) return {};
  const float count = static_cast<float>(rows), inverse = 1 / count;
  // The sum of the differences from the first value.
  const float firsts = product_of(count, first[k]);
  const float large = sum[k] - firsts;
  const float small = rounding_of(large, sum[k], -firsts) + (sum_rest[k] - fmaf(count, first[k], -firsts));
  const float differences = large + small, differences_rest = rounding_of(differences, large, small);
  // Their mean.
  const float offset = product_of(differences, inverse);
  const float offset_rest = product_of(fmaf(-offset, count, differences) + differences_rest, inverse);
  PartMoments part;
  part.mean = first[k] + offset;
  part.mean_rest = rounding_of(part.mean, first[k], offset) + offset_rest;
  // The square of their sum, divided by the count.
  const float product = product_of(differences, offset);
  const float product_rest =
      fmaf(differences_rest, offset, fmaf(differences, offset_rest, fmaf(differences, offset, -product)));
  const float deviations = (squares[k] - product) + (squares_rest[k] - product_rest);
  part.squared_deviations = deviations < 0 ? 0 : deviations;  // keeps NaN
  return part;
}

// One thread calls it for each column of each part. All columns of a part have the same rows.
template <class T>
__device__ __forceinline__ void put_moments(const PartialMoments& to, int64_t part, int64_t column,
                                            const ColumnMoments<T, 1>& moments) {
  if (column >= to.columns) return;
  const PartMoments of_part = moments.part(0);
  to.means(part)[column] = of_part.mean;
  to.mean_rests(part)[column] = of_part.mean_rest;
  to.squared_deviations(part)[column] = of_part.squared_deviations;
  if (column == 0) to.rows[part] = moments.rows;
}

}  // namespace rondo
