// Values<N>: N contiguous elements of float or of a 16-bit type, as floats. Kernels compute with floats,
// whatever the type in memory is; a 16-bit result is rounded once, to nearest even.
#pragma once

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/pack.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

// DEFINE(T) for each type of elements in memory: the instances of an operator.
#define RONDO_FOR_VALUE_TYPES(DEFINE) DEFINE(float) RONDO_FOR_NARROW_TYPES(DEFINE)
#define RONDO_FOR_INPUT_TYPES(DEFINE) \
  RONDO_FOR_VALUE_TYPES(DEFINE) DEFINE(const float) DEFINE(const __nv_bfloat16) DEFINE(const __half)
#define RONDO_FOR_NARROW_TYPES(DEFINE) DEFINE(__nv_bfloat16) DEFINE(__half)

namespace rondo {

// The widest access, in elements of T: 16 bytes on a GPU. On a CPU, a vector register of floats at least.
template <class T>
inline constexpr int kWidestValues = kWidestPack > static_cast<int>(16 / sizeof(T))
                                         ? kWidestPack
                                         : static_cast<int>(16 / sizeof(T));

template <int N>
struct LongValues {
  float v[N];
};
template <int N>
using Values = std::conditional_t<(N <= kWidestPack), Pack<float, N>, LongValues<N>>;

// `from` must be aligned to N elements, or to 16 bytes if that is less.
template <int N, class T>
__device__ __forceinline__ Values<N> load_values(const T* from) {
  if constexpr (std::is_same_v<T, float> && N <= kWidestPack) {
    return load_pack<N>(from);
  } else {
    constexpr int kAtOnce = N < kWidestValues<T> ? N : kWidestValues<T>;
    Values<N> values;
    RONDO_UNROLL
    for (int i = 0; i < N; i += kAtOnce) {
      const auto pack = load_pack<kAtOnce>(from + i);
      RONDO_SIMD
      for (int k = 0; k < kAtOnce; ++k) values.v[i + k] = static_cast<float>(pack.v[k]);
    }
    return values;
  }
}

// `value` N times if `from` is null.
template <int N>
__device__ __forceinline__ Values<N> load_values_or(float value, const float* from, int offset) {
  if (from) return load_values<N>(from + offset);
  Values<N> values;
  RONDO_SIMD
  for (int k = 0; k < N; ++k) values.v[k] = value;
  return values;
}

template <int N, class T>
__device__ __forceinline__ void store_values(T* to, const Values<N>& values) {
  if constexpr (std::is_same_v<T, float> && N <= kWidestPack) {
    store_pack(to, values);
  } else {
    constexpr int kAtOnce = N < kWidestValues<T> ? N : kWidestValues<T>;
    RONDO_UNROLL
    for (int i = 0; i < N; i += kAtOnce) {
      Pack<T, kAtOnce> pack;
      RONDO_SIMD
      for (int k = 0; k < kAtOnce; ++k) pack.v[k] = static_cast<T>(values.v[i + k]);
      store_pack(to + i, pack);
    }
  }
}

// The first `count` of N elements as floats; the others are 0. `aligned`: `from` is a multiple of 16 bytes.
template <int N, class T>
__device__ __forceinline__ Vec<N> load_some_values(const T* from, int64_t count, bool aligned) {
  static_assert(N * sizeof(T) % 16 == 0);
  if constexpr (std::is_same_v<T, float>) {
    return aligned && count >= N ? Vec<N>::load(from) : Vec<N>::load_some(from, count);
  } else {
    Vec<N> vec;
    if (aligned && count >= N) {
      const auto pack = load_pack<N>(from);
      RONDO_UNROLL
      for (int j = 0; j < N; ++j) vec.set(j, static_cast<float>(pack.v[j]));
    } else {
      RONDO_UNROLL
      for (int j = 0; j < N; ++j) vec.set(j, j < count ? static_cast<float>(from[j]) : 0.0f);
    }
    return vec;
  }
}

// pack_width() for accesses to T, and to constants of other types that a thread loads with them:
// kWidestValues<T>, 4, 2 or 1 elements.
template <class T, class... Pointer>
int values_width(int64_t length, Pointer... data) {
  return pack_width<kWidestValues<T>>(length, data...);
}

// Calls start(n) with an integral_constant n for a width that pack_width<16 / sizeof(T)>() returned: 16 bytes
// of elements of T, 4, 2 or 1 elements.
template <class T, class Start>
Status with_pack_width(int width, Start start) {
  if constexpr (sizeof(T) == 2)
    if (width == 8) return start(std::integral_constant<int, 8>());
  if (width == 4) return start(std::integral_constant<int, 4>());
  if (width == 2) return start(std::integral_constant<int, 2>());
  return start(std::integral_constant<int, 1>());
}

}  // namespace rondo
