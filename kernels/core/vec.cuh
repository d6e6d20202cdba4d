// Vec<N>: N consecutive floats that one CUDA thread works on at once; Broadcast<N>: N consecutive floats
// each of which multiplies whole Vec.
//
// They are the inner loop of every tile: acc[i] += a[i] * b, a row of the thread's register tile at a time.
// A GPU has scalar registers, so Vec are plain floats there, and only the loads and stores are wide. A CPU
// has vector registers: Vec are one of them, and a Broadcast stays in memory, since the multiply-add reads
// and spreads a scalar from memory for free. Left to itself, a compiler's guess of which loop to vectorise
// differs by a factor of ten between two spellings of the same tile; here there is nothing to guess.
//
// load(), store() and Broadcast want 16-byte alignment, and a build with RONDO_CHECK_ALIGNMENT checks it; the
// others take any pointer to float.
#pragma once

#include <cuda_runtime.h>

#ifdef __SIMT__
#include <simt/alignment.h>
#endif

#include <cstdint>
#include <utility>

// How often the loop that follows is unrolled: completely (its bounds are compile-time constants), or N
// times. RONDO_SIMD is for a loop that does the same with neighbouring values of one thread: instructions one after the
// other on a GPU, one vector instruction on a CPU, where g++ sees it as long as nobody unrolls the loop first.
#ifdef __SIMT__
#define RONDO_UNROLL _Pragma("GCC unroll 64")
#define RONDO_UNROLL_BY(N) RONDO_PRAGMA(GCC unroll N)
#define RONDO_SIMD _Pragma("GCC unroll 1")
#else
#define RONDO_UNROLL _Pragma("unroll")
#define RONDO_UNROLL_BY(N) RONDO_PRAGMA(unroll N)
#define RONDO_SIMD _Pragma("unroll")
#endif
#define RONDO_PRAGMA(text) _Pragma(#text)

namespace rondo {

// The processor's vector registers: floats in each, and how many there are. None on a GPU.
struct VectorRegisters {
  int lanes, count;
};
#if !defined(__SIMT__)
inline constexpr VectorRegisters kVectorRegisters = {0, 0};
#elif defined(__AVX512F__)
inline constexpr VectorRegisters kVectorRegisters = {16, 32};
#elif defined(__AVX__)
inline constexpr VectorRegisters kVectorRegisters = {8, 16};
#else
inline constexpr VectorRegisters kVectorRegisters = {4, 16};
#endif

template <int N>
struct Vec {
  static_assert(N == 1 || N % 4 == 0, "lanes are loaded four at a time; or there is only one");
#ifdef __SIMT__
  // One vector, or several where N is more than a register's or no power of two.
  static constexpr int kWidth = N == 1                                        ? 1
                                : N % 16 == 0 && kVectorRegisters.lanes >= 16 ? 16
                                : N % 8 == 0 && kVectorRegisters.lanes >= 8   ? 8
                                                                              : 4;
  typedef float Vector __attribute__((vector_size(kWidth * sizeof(float))));
  static constexpr int kVectors = N / kWidth;
  Vector v[kVectors];

  static constexpr int kAlignment = N == 1 ? 4 : 16;  // of a GPU's accesses

  static __device__ __forceinline__ Vec load(const float* from) {
    simt::check_aligned<kAlignment>("a load of Vec", from);
    return load_unaligned(from);
  }
  static __device__ __forceinline__ Vec load_unaligned(const float* from) {
    Vec vec;
    RONDO_UNROLL
    for (int j = 0; j < kVectors; ++j) __builtin_memcpy(&vec.v[j], from + j * kWidth, sizeof(Vector));
    return vec;
  }
  __device__ __forceinline__ void store(float* to) const {
    simt::check_aligned<kAlignment>("a store of Vec", to);
    store_unaligned(to);
  }
  __device__ __forceinline__ void store_unaligned(float* to) const {
    RONDO_UNROLL
    for (int j = 0; j < kVectors; ++j) __builtin_memcpy(to + j * kWidth, &v[j], sizeof(Vector));
  }
  __device__ __forceinline__ void add_product(float scalar, const Vec& vec) {
    RONDO_UNROLL
    for (int j = 0; j < kVectors; ++j) v[j] += scalar * vec.v[j];
  }
  __device__ __forceinline__ void add(const Vec& vec) {
    RONDO_UNROLL
    for (int j = 0; j < kVectors; ++j) v[j] += vec.v[j];
  }
  __device__ __forceinline__ void subtract(const Vec& vec) {
    RONDO_UNROLL
    for (int j = 0; j < kVectors; ++j) v[j] -= vec.v[j];
  }
  __device__ __forceinline__ void scale(float scalar) {
    RONDO_UNROLL
    for (int j = 0; j < kVectors; ++j) v[j] *= scalar;
  }
  __device__ __forceinline__ void relu() {
    RONDO_UNROLL
    for (int j = 0; j < kVectors; ++j) v[j] = v[j] < Vector{} ? Vector{} : v[j];
  }
#else
  float v[N];

  static __device__ __forceinline__ Vec load(const float* from) {
    static_assert(N % 4 == 0);
    Vec vec;
#pragma unroll
    for (int j = 0; j < N; j += 4) {
      const float4 four = *reinterpret_cast<const float4*>(from + j);
      vec.v[j] = four.x, vec.v[j + 1] = four.y, vec.v[j + 2] = four.z, vec.v[j + 3] = four.w;
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
    static_assert(N % 4 == 0);
#pragma unroll
    for (int j = 0; j < N; j += 4)
      *reinterpret_cast<float4*>(to + j) = make_float4(v[j], v[j + 1], v[j + 2], v[j + 3]);
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
  __device__ __forceinline__ void relu() {  // a NaN is not below 0 and stays
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

  // The first `count` values; the others are 0.
  static __device__ __forceinline__ Vec load_some(const float* from, int64_t count) {
    if (count >= N) return load_unaligned(from);
    float values[N];
#pragma unroll
    for (int j = 0; j < N; ++j) values[j] = j < count ? from[j] : 0;
    return load_unaligned(values);
  }
  __device__ __forceinline__ void store_some(float* to, int64_t count) const {
    if (count >= N) return store_unaligned(to);
#pragma unroll
    for (int j = 0; j < N; ++j)
      if (j < count) to[j] = (*this)[j];
  }
};

// The rows of a block of N x N values become its columns. On a CPU N is at most a vector register's lanes, and each step
// swaps the off-diagonal quarters of blocks of twice `width`.
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
  static_assert(Vec<N>::kVectors == 1);
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
#ifdef __SIMT__
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
