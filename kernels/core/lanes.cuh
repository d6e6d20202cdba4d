// Lanes<N>: N consecutive floats that one CUDA thread works on at once; Broadcast<N>: N consecutive floats
// each of which multiplies whole Lanes.
//
// They are the inner loop of every tile: acc[i] += a[i] * b, a row of the thread's register tile at a time.
// A GPU has scalar registers, so Lanes are plain floats there, and only the loads and stores are wide. A CPU
// has vector registers: Lanes are one of them, and a Broadcast stays in memory, since the multiply-add reads
// and spreads a scalar from memory for free. Left to itself, a compiler's guess of which loop to vectorise
// differs by a factor of ten between two spellings of the same tile; here there is nothing to guess.
//
// load() wants 16-byte alignment, as in shared memory; load_unaligned() takes any pointer to float.
#pragma once

#include <cuda_runtime.h>

namespace rondo {

template <int N>
struct Lanes {
  static_assert(N % 4 == 0, "lanes are loaded four at a time");
#ifdef __SIMT__
  typedef float Vector __attribute__((vector_size(N * sizeof(float))));
  Vector v;

  static __device__ __forceinline__ Lanes zero() { return Lanes{}; }
  static __device__ __forceinline__ Lanes load(const float* from) {
    Lanes lanes;
    __builtin_memcpy(&lanes.v, from, sizeof(Vector));
    return lanes;
  }
  static __device__ __forceinline__ Lanes load_unaligned(const float* from) { return load(from); }
  __device__ __forceinline__ void add_product(float scalar, const Lanes& lanes) { v += scalar * lanes.v; }
  __device__ __forceinline__ float operator[](int j) const { return reinterpret_cast<const float*>(&v)[j]; }
#else
  float v[N];

  static __device__ __forceinline__ Lanes zero() { return Lanes{}; }
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
  __device__ __forceinline__ void add_product(float scalar, const Lanes& lanes) {
#pragma unroll
    for (int j = 0; j < N; ++j) v[j] += scalar * lanes.v[j];
  }
  __device__ __forceinline__ float operator[](int j) const { return v[j]; }
#endif
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
