// Factors as the floats that vector tiles multiply. 16-bit factors are converted, and floats of tf32 rounded,
// when a k-tile is copied. So all arithmetics have the same main loop. Their products are exact in fp32, and
// the sums are those of fp32 multiply-adds. For VectorThreads.
#pragma once

#include <rondo/kernels/core/arithmetic.h>
#include <rondo/kernels/core/loops.cuh>
#include <rondo/kernels/core/ptx/tf32.cuh>
#include <rondo/kernels/core/vec.cuh>

#ifdef __SIMT__
#include <rondo/kernels/core/half_vectors.cuh>
#endif

#include <cstring>

namespace rondo {

template <Arithmetic kArithmetic>
__device__ __forceinline__ float factor_value(FactorOf<kArithmetic> x) {
  static_assert(kArithmetic != Arithmetic::tf32x3);
  if constexpr (kArithmetic == Arithmetic::tf32)
    return __uint_as_float(ptx::to_tf32(x));
  else
    return static_cast<float>(x);
}

// Copies N factors, at any alignment.
template <Arithmetic kArithmetic, int N>
__device__ __forceinline__ void copy_factors(float* __restrict__ to,
                                             const FactorOf<kArithmetic>* __restrict__ from) {
  if constexpr (kArithmetic == Arithmetic::fp32) {
    memcpy(to, from, N * sizeof(float));
#ifdef __SIMT__
  } else if constexpr (kArithmetic == Arithmetic::fp16) {
    convert_halves<N>(to, from);
#endif
  } else {
    RONDO_SIMD
    for (int i = 0; i < N; ++i) to[i] = factor_value<kArithmetic>(from[i]);
  }
}

// Copies `count` factors, fewer than N.
template <Arithmetic kArithmetic, int N>
__device__ __forceinline__ void copy_some_factors(float* __restrict__ to,
                                                  const FactorOf<kArithmetic>* __restrict__ from, int count) {
  if constexpr (kArithmetic == Arithmetic::fp32) {
    copy_some<N>(to, from, count);
  } else {
    for (int i = 0; i < count; ++i) to[i] = factor_value<kArithmetic>(from[i]);
  }
}

// Copies `count` factors, and writes zeros behind them up to `end`.
template <Arithmetic kArithmetic>
__device__ __forceinline__ void copy_factors_then_zeros(float* to, const FactorOf<kArithmetic>* from,
                                                        int count, int end) {
  int i = 0;
  for (; i + 16 <= count; i += 16) copy_factors<kArithmetic, 16>(to + i, from + i);
  copy_some_factors<kArithmetic, 16>(to + i, from + i, count - i);
  for (i = max(count, 0); i < end; ++i) to[i] = 0;
}

// The same for a row of kEnd factors, most of which are whole.
template <Arithmetic kArithmetic, int kEnd>
__device__ __forceinline__ void copy_factor_row(float* to, const FactorOf<kArithmetic>* from, int count) {
  constexpr int kAtOnce = kEnd % 16 == 0 ? 16 : 4;
  if (count < kEnd) return copy_factors_then_zeros<kArithmetic>(to, from, count, kEnd);
  RONDO_UNROLL
  for (int i = 0; i < kEnd; i += kAtOnce) {
    if constexpr (kArithmetic == Arithmetic::fp32)
      Vec<kAtOnce>::load_unaligned(from + i).store(to + i);
    else
      copy_factors<kArithmetic, kAtOnce>(to + i, from + i);
  }
}

// Loads a block of N x N factors, from K-major memory: N each at `from`, from + stride, ... Of these only
// `rows` rows of `count` factors exist; the others become zeros.
template <Arithmetic kArithmetic, int N>
__device__ __forceinline__ void load_factor_block(Vec<N> (&block)[N], const FactorOf<kArithmetic>* from,
                                                  int64_t stride, int rows, int count) {
  if constexpr (kArithmetic == Arithmetic::fp32) {
    if (rows >= N && count >= N) {
      RONDO_UNROLL
      for (int i = 0; i < N; ++i) block[i] = Vec<N>::load_unaligned(from + i * stride);
    } else {
      for (int i = 0; i < N; ++i)
        block[i] = i < rows ? Vec<N>::load_some(from + i * stride, count) : Vec<N>::zero();
    }
  } else {
    alignas(64) float values[N * N];
    if (rows >= N && count >= N) {
      for (int i = 0; i < N; ++i) copy_factors<kArithmetic, N>(values + i * N, from + i * stride);
    } else {
      for (int i = 0; i < N; ++i)
        copy_factors_then_zeros<kArithmetic>(values + i * N, from + i * stride, i < rows ? min(count, N) : 0,
                                             N);
    }
    RONDO_UNROLL
    for (int i = 0; i < N; ++i) block[i] = Vec<N>::load(values + i * N);
  }
}

// Copies such a block to (k, outer) of an MN-major k-tile.
template <Arithmetic kArithmetic, class KTile, int N>
__device__ __forceinline__ void copy_transposed_factors(float* k_tile, int k, int outer,
                                                        const FactorOf<kArithmetic>* from, int64_t stride,
                                                        int rows, int count) {
  Vec<N> block[N];
  load_factor_block<kArithmetic>(block, from, stride, rows, count);
  transpose(block);
  RONDO_UNROLL
  for (int i = 0; i < N; ++i) block[i].store(k_tile + KTile::at(k + i, outer));
}

}  // namespace rondo
