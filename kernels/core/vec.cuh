// Vec<N>: N consecutive floats that one CUDA thread processes together.
// Broadcast<N>: N consecutive floats, each of which multiplies a whole Vec.
//
// They form the inner loop of every tile: acc[i] += a[i] * b, one row of the thread's register tile at a
// time. A GPU has scalar registers: there a Vec is plain floats, and only its loads and stores are wide. A
// CPU has vector registers: there a Vec is one or more of them. A Broadcast stays in memory on the CPU,
// because the multiply-add reads and broadcasts a scalar from memory at no extra cost. Without Vec the
// compiler chooses the loop to vectorise, and two equivalent forms of the same tile differed by a factor of
// ten.
//
// load(), store() and Broadcast require 16-byte alignment (8-byte, for Vec<2>); a build with
// RONDO_CHECK_ALIGNMENT checks it. The other functions accept any pointer to float.
#pragma once

#include <rondo/kernels/core/loops.cuh>

#include <cuda_runtime.h>

#ifdef __SIMT__
#include <simt/alignment.h>
#include <simt/memory_access.h>
#endif

#include <cstdint>
#include <cstring>
#include <utility>

// For functions that copy a k-tile or store a row of results. On a GPU they must be inline, so that their
// state stays in registers. On a CPU a call costs little next to their work, and kernels that share such a
// function compile in a third of the time.
#if defined(__SIMT__) && !defined(SIMT_OBSERVE)
#define RONDO_INLINE_ON_GPU [[gnu::noinline]]
#else
#define RONDO_INLINE_ON_GPU __forceinline__
#endif

namespace rondo {

// The processor's vector registers: floats per register, and number of registers. Zero on a GPU, and in a
// build that observes kernels, so that it has the GPU's tiles and accesses.
struct VectorRegisters {
  int lanes, count;
};
#if !defined(__SIMT__) || defined(SIMT_OBSERVE)
inline constexpr VectorRegisters kVectorRegisters = {0, 0};
#elif defined(__AVX512F__)
inline constexpr VectorRegisters kVectorRegisters = {16, 32};
#elif defined(__AVX__)
inline constexpr VectorRegisters kVectorRegisters = {8, 16};
#else
inline constexpr VectorRegisters kVectorRegisters = {4, 16};
#endif

// Replaces every one of the values by function(value). They are registers of a thread, which a GPU cannot
// index. So they rotate through the first kAtOnce of them, in a loop that contains the function kAtOnce
// times.
template <int kAtOnce, int N, class Function>
__device__ __forceinline__ void transform_values(float (&values)[N], const Function& function) {
  static_assert(N % kAtOnce == 0);
#ifdef __SIMT__
  RONDO_SIMD
  for (int i = 0; i < N; ++i) values[i] = function(values[i]);
#else
  RONDO_UNROLL_BY(1)
  for (int round = 0; round < N / kAtOnce; ++round) {
    float done[kAtOnce];
    RONDO_UNROLL
    for (int i = 0; i < kAtOnce; ++i) done[i] = function(values[i]);
    RONDO_UNROLL
    for (int i = 0; i < N - kAtOnce; ++i) values[i] = values[i + kAtOnce];
    RONDO_UNROLL
    for (int i = 0; i < kAtOnce; ++i) values[N - kAtOnce + i] = done[i];
  }
#endif
}

// Copies `count` floats, fewer than N, in pieces of halving sizes: 20 of 32 are 16 and 4. For threads with
// vector registers.
template <int N>
__device__ __forceinline__ void copy_some(float* to, const float* from, int64_t count) {
  if constexpr (N > 1) {
    constexpr int kPiece = N <= 2 ? 1 : N <= 4 ? 2 : N <= 8 ? 4 : N <= 16 ? 8 : N <= 32 ? 16 : 32;
    if (count >= kPiece) {
      memcpy(to, from, kPiece * sizeof(float));
      to += kPiece, from += kPiece, count -= kPiece;
    }
    copy_some<kPiece>(to, from, count);
  }
}

template <int N>
struct Vec {
  static_assert(N <= 2 || N % 4 == 0, "lanes are loaded four at a time; or there are one or two");
#ifdef __SIMT__
  // One vector register, or several if N exceeds its width or is not a power of two.
  static constexpr int kWidth = N <= 2                                        ? N
                                : N % 16 == 0 && kVectorRegisters.lanes >= 16 ? 16
                                : N % 8 == 0 && kVectorRegisters.lanes >= 8   ? 8
                                                                              : 4;
  typedef float Vector __attribute__((vector_size(kWidth * sizeof(float))));
  static constexpr int kRegisters = N / kWidth;
  Vector v[kRegisters];

  static constexpr int kAlignment = N <= 2 ? 4 * N : 16;  // of the accesses on a GPU

  static __device__ __forceinline__ Vec load(const float* from) {
    simt::check_aligned<kAlignment>("a load of Vec", from);
    Vec vec;
    RONDO_UNROLL
    for (int j = 0; j < kRegisters; ++j) simt::load<sizeof(Vector)>(&vec.v[j], from + j * kWidth);
    return vec;
  }
  static __device__ __forceinline__ Vec load_unaligned(const float* from) {
    Vec vec;
    RONDO_UNROLL
    for (int j = 0; j < kRegisters; ++j) simt::load_scalars<sizeof(Vector), 4>(&vec.v[j], from + j * kWidth);
    return vec;
  }
  __device__ __forceinline__ void store(float* to) const {
    simt::check_aligned<kAlignment>("a store of Vec", to);
    RONDO_UNROLL
    for (int j = 0; j < kRegisters; ++j) simt::store<sizeof(Vector)>(to + j * kWidth, &v[j]);
  }
  __device__ __forceinline__ void store_unaligned(float* to) const {
    RONDO_UNROLL
    for (int j = 0; j < kRegisters; ++j) simt::store_scalars<sizeof(Vector), 4>(to + j * kWidth, &v[j]);
  }
  __device__ __forceinline__ void add_product(float scalar, const Vec& vec) {
    simt::count_multiply_adds(N);
    RONDO_UNROLL
    for (int j = 0; j < kRegisters; ++j) v[j] += scalar * vec.v[j];
  }
  __device__ __forceinline__ void add(const Vec& vec) {
    RONDO_UNROLL
    for (int j = 0; j < kRegisters; ++j) v[j] += vec.v[j];
  }
  __device__ __forceinline__ void subtract(const Vec& vec) {
    RONDO_UNROLL
    for (int j = 0; j < kRegisters; ++j) v[j] -= vec.v[j];
  }
  __device__ __forceinline__ void scale(float scalar) {
    RONDO_UNROLL
    for (int j = 0; j < kRegisters; ++j) v[j] *= scalar;
  }
  __device__ __forceinline__ void relu() {
    RONDO_UNROLL
    for (int j = 0; j < kRegisters; ++j) v[j] = v[j] < Vector{} ? Vector{} : v[j];
  }
#else
  float v[N];

  static __device__ __forceinline__ Vec load(const float* from) {
    Vec vec;
    if constexpr (N == 2) {
      const float2 two = *reinterpret_cast<const float2*>(from);
      vec.v[0] = two.x, vec.v[1] = two.y;
    } else {
      static_assert(N % 4 == 0);
#pragma unroll
      for (int j = 0; j < N; j += 4) {
        const float4 four = *reinterpret_cast<const float4*>(from + j);
        vec.v[j] = four.x, vec.v[j + 1] = four.y, vec.v[j + 2] = four.z, vec.v[j + 3] = four.w;
      }
    }
    return vec;
  }
  static __device__ __forceinline__ Vec load_unaligned(const float* from) {
    Vec vec;
#pragma unroll
    for (int j = 0; j < N; ++j) vec.v[j] = from[j];
    return vec;
  }
  __device__ __forceinline__ void store(float* to) const {
    if constexpr (N == 2) {
      *reinterpret_cast<float2*>(to) = make_float2(v[0], v[1]);
    } else {
      static_assert(N % 4 == 0);
#pragma unroll
      for (int j = 0; j < N; j += 4)
        *reinterpret_cast<float4*>(to + j) = make_float4(v[j], v[j + 1], v[j + 2], v[j + 3]);
    }
  }
  __device__ __forceinline__ void store_unaligned(float* to) const {
#pragma unroll
    for (int j = 0; j < N; ++j) to[j] = v[j];
  }
  __device__ __forceinline__ void add_product(float scalar, const Vec& vec) {
#pragma unroll
    for (int j = 0; j < N; ++j) v[j] += scalar * vec.v[j];
  }
  __device__ __forceinline__ void add(const Vec& vec) {
#pragma unroll
    for (int j = 0; j < N; ++j) v[j] += vec.v[j];
  }
  __device__ __forceinline__ void subtract(const Vec& vec) {
#pragma unroll
    for (int j = 0; j < N; ++j) v[j] -= vec.v[j];
  }
  __device__ __forceinline__ void scale(float scalar) {
#pragma unroll
    for (int j = 0; j < N; ++j) v[j] *= scalar;
  }
  __device__ __forceinline__ void relu() {  // keeps NaN: it is not below 0
#pragma unroll
    for (int j = 0; j < N; ++j) v[j] = v[j] < 0 ? 0 : v[j];
  }
#endif

  static __device__ __forceinline__ Vec zero() { return Vec{}; }
  friend __device__ __forceinline__ Vec operator+(Vec a, const Vec& b) {
    a.add(b);
    return a;
  }
  friend __device__ __forceinline__ Vec operator-(Vec a, const Vec& b) {
    a.subtract(b);
    return a;
  }
  __device__ __forceinline__ float operator[](int j) const { return reinterpret_cast<const float*>(&v)[j]; }

  __device__ __forceinline__ void set(int j, float value) { reinterpret_cast<float*>(&v)[j] = value; }

  // Replaces every value by function(value).
  template <class Function>
  __device__ __forceinline__ void transform(const Function& function) {
    float values[N];
    RONDO_UNROLL
    for (int j = 0; j < N; ++j) values[j] = (*this)[j];
    transform_values<1>(values, function);
    RONDO_UNROLL
    for (int j = 0; j < N; ++j) set(j, values[j]);
  }

  // `M` values from `first` on, which must be a compile-time constant after unrolling.
  template <int M>
  __device__ __forceinline__ Vec<M> part(int first) const {
    if constexpr (M == N) {
      return *this;
    } else {
      Vec<M> values;
      RONDO_UNROLL
      for (int j = 0; j < M; ++j) values.set(j, (*this)[first + j]);
      return values;
    }
  }
  template <int M>
  __device__ __forceinline__ void set_part(int first, const Vec<M>& values) {
    RONDO_UNROLL
    for (int j = 0; j < M; ++j) set(first + j, values[j]);
  }

  // Loads the first `count` values; the others are 0.
  static __device__ __forceinline__ Vec load_some(const float* from, int64_t count) {
    if (count >= N) return load_unaligned(from);
    float values[N];
    if constexpr (kVectorTiles) {
      for (int j = 0; j < N; ++j) values[j] = 0;
      copy_some<N>(values, from, count);
    } else {
#pragma unroll
      for (int j = 0; j < N; ++j) values[j] = j < count ? from[j] : 0;
    }
    return load_unaligned(values);
  }
  __device__ __forceinline__ void store_some(float* to, int64_t count) const {
    if (count >= N) return store_unaligned(to);
    if constexpr (kVectorTiles) {
      float values[N];
      store_unaligned(values);
      copy_some<N>(to, values, count);
    } else {
#pragma unroll
      for (int j = 0; j < N; ++j)
        if (j < count) to[j] = (*this)[j];
    }
  }
};

// Transposes a block of N x N values. On a CPU, N is at most the width of a vector register; each step swaps
// the off-diagonal quarters of the blocks of size 2 * `width`.
#ifdef __SIMT__
namespace detail {
template <int width, class Vector, int... j>
__device__ __forceinline__ void swap_quarters(Vector& a, Vector& b, std::integer_sequence<int, j...>) {
  constexpr int N = sizeof...(j);
  const Vector upper = __builtin_shufflevector(a, b, (j & width ? N + j - width : j)...);
  b = __builtin_shufflevector(a, b, (j & width ? N + j : j + width)...);
  a = upper;
}
template <int width, int N>
__device__ __forceinline__ void transpose(Vec<N> (&rows)[N]) {
  RONDO_UNROLL
  for (int i = 0; i < N; ++i)
    if (!(i & width))
      swap_quarters<width>(rows[i].v[0], rows[i | width].v[0], std::make_integer_sequence<int, N>());
  if constexpr (2 * width < N) transpose<2 * width>(rows);
}
}  // namespace detail
template <int N>
__device__ __forceinline__ void transpose(Vec<N> (&rows)[N]) {
  static_assert(Vec<N>::kRegisters == 1);
  detail::transpose<1>(rows);
}
#else
template <int N>
__device__ __forceinline__ void transpose(Vec<N> (&rows)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i)
#pragma unroll
    for (int j = 0; j < i; ++j) {
      const float below = rows[i].v[j];
      rows[i].v[j] = rows[j].v[i];
      rows[j].v[i] = below;
    }
}
#endif

template <int N>
struct Broadcast {
  static_assert(N == 4, "one 16-byte load");
#ifdef SIMT_OBSERVE
  using Vector = typename Vec<4>::Vector;
  Vector four;
  explicit __device__ __forceinline__ Broadcast(const float* values) {
    simt::check_aligned<16>("a Broadcast", values);
    simt::load<sizeof(Vector)>(&four, values);
  }
  __device__ __forceinline__ float operator[](int i) const { return four[i]; }
#elif defined(__SIMT__)
  const float* from;
  explicit __device__ __forceinline__ Broadcast(const float* values) : from(values) {
    simt::check_aligned<16>("a Broadcast", from);
  }
  __device__ __forceinline__ float operator[](int i) const { return from[i]; }
#else
  float4 four;
  explicit __device__ __forceinline__ Broadcast(const float* from)
      : four(*reinterpret_cast<const float4*>(from)) {}
  __device__ __forceinline__ float operator[](int i) const {
    return i == 0 ? four.x : i == 1 ? four.y : i == 2 ? four.z : four.w;
  }
#endif
};

}  // namespace rondo
