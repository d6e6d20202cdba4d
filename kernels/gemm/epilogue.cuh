// The epilogue of a tile: computes the stored values from the accumulated sums.
#pragma once

#include <rondo/kernels/core/activation.h>
#include <rondo/kernels/gemm/gemm_arguments.h>
#include <rondo/kernels/core/narrow_vec.cuh>
#include <rondo/kernels/core/pack.cuh>
#include <rondo/kernels/core/vec.cuh>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace rondo {

// kSmooth: with the code of all activations; otherwise of none and relu only.
template <bool kSmooth>
struct EpilogueOf {
  float alpha = 1;
  float beta = 0;               // 0: the old value or residual is not read
  const float* bias = nullptr;  // per column; null for none
  Activation activation = Activation::none;
  bool aligned = false;  // rows_are_aligned() for the N values that store_row() stores
  int64_t residual = 0;  // elements from a result to the value that beta multiplies, of any alignment

  // Adds `values`, in the layout of the result `to`, instead of old values of the result.
  template <class C>
  __host__ __device__ void add_residual(const C* values, const C* to) {
    beta = 1;
    residual = (reinterpret_cast<intptr_t>(values) - reinterpret_cast<intptr_t>(to)) /
               static_cast<intptr_t>(sizeof(C));
  }

  template <bool kTo>
  requires(kTo && !kSmooth) operator EpilogueOf<kTo>() const {
    return {alpha, beta, bias, activation, aligned, residual};
  }

  // C: the type of the stored value: float, __nv_bfloat16 or __half. The arithmetic is fp32.
  template <class C>
  __device__ __forceinline__ float value(float sum, int64_t column, const C* to) const {
    Vec<1> result = {linear(sum, column, to)};
    activate(result);
    return result[0];
  }

  // Stores N columns of the row `row`, from `column` on, and returns them as they were stored. Columns at or
  // beyond `columns` are not stored, and what is returned for them has no meaning.
  template <int N>
  __device__ __forceinline__ Vec<N> store_row(float* row, int64_t column, int64_t columns,
                                              const Vec<N>& sums) const {
    float* to = row + column;
    const int64_t count = columns - column;
    Vec<N> result = sums;
    result.scale(alpha);
    if (beta != 0) result.add_product(beta, Vec<N>::load_some(to + residual, count));
    if (bias != nullptr) result.add(Vec<N>::load_some(bias + column, count));
    activate(result);
    if (aligned && count >= N)
      result.store(to);
    else
      result.store_some(to, count);
    return result;
  }

  // store_row() for kernels with many tiles, which share it on a CPU. The sums are passed by value, so that
  // those of a thread can stay in registers.
  template <int N>
  __device__ RONDO_INLINE_ON_GPU void store_tile_row(float* row, int64_t column, int64_t columns,
                                                     Vec<N> sums) const {
    store_row(row, column, columns, sums);
  }

  // store_row() for a result of 16-bit values.
  template <int N, class C>
  __device__ __forceinline__ Vec<N> store_row(C* row, int64_t column, int64_t columns,
                                              const Vec<N>& sums) const {
    C* to = row + column;
    Vec<N> result;
    if constexpr (kVectorTiles && N > 4) {
      const int64_t count = columns - column;
      result = sums;
      result.scale(alpha);
      if (beta != 0) result.add_product(beta, load_some_as_floats<N>(to + residual, count));
      if (bias != nullptr) result.add(Vec<N>::load_some(bias + column, count));
      activate(result);
      return store_some_as(to, result, count);
    }
    RONDO_UNROLL
    for (int j = 0; j < N; ++j) result.set(j, column + j < columns ? linear(sums[j], column + j, to + j) : 0);
    activate(result);
    Pack<C, N> pack;
    RONDO_UNROLL
    for (int j = 0; j < N; ++j) pack.v[j] = static_cast<C>(result[j]);
    if (aligned && column + N <= columns) {
      store_pack(to, pack);
    } else {
      RONDO_UNROLL
      for (int j = 0; j < N; ++j)
        if (column + j < columns) to[j] = pack.v[j];
    }
    RONDO_UNROLL
    for (int j = 0; j < N; ++j) result.set(j, static_cast<float>(pack.v[j]));
    return result;
  }

 private:
  // The value before the activation.
  template <class C>
  __device__ __forceinline__ float linear(float sum, int64_t column, const C* to) const {
    // Written out, because compilers choose differently what they fuse.
    float result = __fmul_rn(alpha, sum);
    if (beta != 0) result = fmaf(beta, static_cast<float>(to[residual]), result);
    if (bias != nullptr) result += bias[column];
    return result;
  }

  template <int N>
  __device__ __forceinline__ void activate(Vec<N>& values) const {
    if (activation == Activation::relu) values.relu();
    if constexpr (kSmooth)
      if (is_smooth(activation))
        values.transform([&](float value) { return smooth_activation(activation, value); });
  }
};

using Epilogue = EpilogueOf<false>;     // of convolutions and partial sums
using GemmEpilogue = EpilogueOf<true>;  // of products

// The widest copy for rows of `length` elements at distance `stride`: 64, 16, 4, 2 or 1 floats, or 8 or 1
// elements of 16 bits. Copies of more than 4 floats need only the alignment of 4 floats. A kernel with
// narrower copies makes several per width.
template <class T>
int copy_width(const T* data, int64_t stride, int64_t length) {
  const auto fits = [&](int width, int aligned_to) {
    return reinterpret_cast<uintptr_t>(data) % (sizeof(T) * aligned_to) == 0 && stride % width == 0 &&
           length % width == 0;
  };
  if constexpr (sizeof(T) == 2) {
    return fits(8, 8) ? 8 : 1;
  } else {
    for (const int width : {64, 16, 4, 2})
      if (fits(width, std::min(width, 4))) return width;
    return 1;
  }
}

// copy_width() of a matrix at `data`, if `width` is that for an address that is a multiple of 16 bytes.
template <class T>
__device__ __forceinline__ int copy_width_at(const T* data, int width) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (address % 16 == 0) return width;
  return sizeof(T) == 4 && address % 8 == 0 && width > 1 ? 2 : 1;
}

// Whether rows of a result with `stride` elements between them begin at multiples of N elements, or of 16
// bytes if that is less.
template <int N, class T>
__host__ __device__ bool rows_are_aligned(const T* data, int64_t stride) {
  constexpr size_t kBytes = N * sizeof(T) < 16 ? N * sizeof(T) : 16;
  return reinterpret_cast<uintptr_t>(data) % kBytes == 0 && stride * sizeof(T) % kBytes == 0;
}

// For a kernel that stores single values.
template <class T, class C>
__host__ __device__ GemmEpilogue unaligned_epilogue(const GemmArgumentsOf<T, C>& g) {
  GemmEpilogue epilogue = {g.alpha, g.beta, g.bias, g.activation};
  if (g.residual) epilogue.add_residual(g.residual, g.c);
  return epilogue;
}

// For a kernel that stores rows of 4 values. Of a batch, for its first matrix (fma/pipelined.cuh has those of
// the others).
template <class T, class C>
GemmEpilogue gemm_epilogue(const GemmArgumentsOf<T, C>& g) {
  GemmEpilogue epilogue = unaligned_epilogue(g);
  epilogue.aligned = rows_are_aligned<4>(g.c, g.c_stride);
  return epilogue;
}

}  // namespace rondo
