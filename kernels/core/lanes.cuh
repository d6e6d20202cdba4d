// Lanes<N>: N consecutive floats that one CUDA thread works on at once; Broadcast<N>: N consecutive floats
// each of which multiplies whole Lanes.
//
// They are the inner loop of every tile: acc[i] += a[i] * b, a row of the thread's register tile at a time.
// A GPU has scalar registers, so Lanes are plain floats there, and only the loads and stores are wide. A CPU
// has vector registers: Lanes are one of them, and a Broadcast stays in memory, since the multiply-add reads
// and spreads a scalar from memory for free. Left to itself, a compiler's guess of which loop to vectorise
// differs by a factor of ten between two spellings of the same tile; here there is nothing to guess.
//
// load() and store() want 16-byte alignment; the others take any pointer to float.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace rondo {

template <int N>
struct Lanes {
  static_assert(N % 4 == 0, "lanes are loaded four at a time");
#ifdef __SIMT__
  typedef float Vector __attribute__((vector_size(N * sizeof(float))));
  Vector v;

  static __device__ __forceinline__ Lanes load(const float* from) { return load_unaligned(from); }
  static __device__ __forceinline__ Lanes load_unaligned(const float* from) {
    Lanes lanes;
    __builtin_memcpy(&lanes.v, from, sizeof(Vector));
    return lanes;
  }
  __device__ __forceinline__ void store(float* to) const { store_unaligned(to); }
  __device__ __forceinline__ void store_unaligned(float* to) const {
    __builtin_memcpy(to, &v, sizeof(Vector));
  }
  __device__ __forceinline__ void add_product(float scalar, const Lanes& lanes) { v += scalar * lanes.v; }
  __device__ __forceinline__ void add(const Lanes& lanes) { v += lanes.v; }
  __device__ __forceinline__ void scale(float scalar) { v *= scalar; }
  __device__ __forceinline__ void relu() { v = v < Vector{} ? Vector{} : v; }
#else
  float v[N];

  static __device__ __forceinline__ Lanes load(const float* from) {
    Lanes lanes;
#pragma unroll
    for (int j = 0; j < N; j += 4) {
      const float4 four = *reinterpret_cast<const float4*>(from + j);
      lanes.v[j] = four.x, lanes.v[j + 1] = four.y, lanes.v[j + 2] = four.z, lanes.v[j + 3] = four.w;
    }
    return lanes;
  }
  static __device__ __forceinline__ Lanes load_unaligned(const float* from) {
    Lanes lanes;
#pragma unroll
    for (int j = 0; j < N; ++j) lanes.v[j] = from[j];
    return lanes;
  }
  __device__ __forceinline__ void store(float* to) const {
#pragma unroll
    for (int j = 0; j < N; j += 4)
      *reinterpret_cast<float4*>(to + j) = make_float4(v[j], v[j + 1], v[j + 2], v[j + 3]);
  }
  __device__ __forceinline__ void store_unaligned(float* to) const {
#pragma unroll
    for (int j = 0; j < N; ++j) to[j] = v[j];
  }
  __device__ __forceinline__ void add_product(float scalar, const Lanes& lanes) {
#pragma unroll
    for (int j = 0; j < N; ++j) v[j] += scalar * lanes.v[j];
  }
  __device__ __forceinline__ void add(const Lanes& lanes) {
#pragma unroll
    for (int j = 0; j < N; ++j) v[j] += lanes.v[j];
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

  static __device__ __forceinline__ Lanes zero() { return Lanes{}; }
  __device__ __forceinline__ float operator[](int j) const { return reinterpret_cast<const float*>(&v)[j]; }

  // The first `count` values; the others are 0.
  static __device__ __forceinline__ Lanes load_some(const float* from, int64_t count) {
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

template <int N>
struct Broadcast {
  static_assert(N == 4, "one 16-byte load");
#ifdef __SIMT__
  const float* from;
  explicit __device__ __forceinline__ Broadcast(const float* values) : from(values) {}
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

// How often the loop that follows is unrolled: completely (its bounds are compile-time constants), or N
// times.
#ifdef __SIMT__
#define RONDO_UNROLL _Pragma("GCC unroll 64")
#define RONDO_UNROLL_BY(N) RONDO_PRAGMA(GCC unroll N)
#else
#define RONDO_UNROLL _Pragma("unroll")
#define RONDO_UNROLL_BY(N) RONDO_PRAGMA(unroll N)
#endif
#define RONDO_PRAGMA(text) _Pragma(#text)
