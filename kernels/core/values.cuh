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

// The widest access, in elements of T: 16 bytes on a GPU. On a CPU, at least those of kWidestPack floats.
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

// The same, element by element: for any alignment.
template <int N, class T>
__device__ __forceinline__ Values<N> load_elements(const T* from) {
  Values<N> values;
  RONDO_SIMD
  for (int k = 0; k < N; ++k) values.v[k] = static_cast<float>(from[k]);
  return values;
}
template <int N, class T>
__device__ __forceinline__ void store_elements(T* to, const Values<N>& values) {
  RONDO_SIMD
  for (int k = 0; k < N; ++k) to[k] = static_cast<T>(values.v[k]);
}

// pack_width() for accesses to T, and to constants of other types that a thread loads with them:
// kWidestValues<T>, 4, 2 or 1 elements.
template <class T, class... Pointer>
int values_width(int64_t length, Pointer... data) {
  return pack_width<kWidestValues<T>>(length, data...);
}

// Calls start(n) with an integral_constant n for a width that values_width<T>() returned.
template <class T, class Start>
Status with_values_width(int width, Start start) {
  if constexpr (kWidestValues<T> > 4)
    if (width == kWidestValues<T>) return start(std::integral_constant<int, kWidestValues<T>>());
  if (width == 4) return start(std::integral_constant<int, 4>());
  if (width == 2) return start(std::integral_constant<int, 2>());
  return start(std::integral_constant<int, 1>());
}

}  // namespace rondo
