// Vec<N> from and to elements of other types, at any alignment. For threads with vector registers.
#pragma once

#include <rondo/kernels/core/vec.cuh>

namespace rondo {

// The first `count` values at `from`, as floats; the others are 0.
template <int N, class T>
__device__ __forceinline__ Vec<N> load_some_as_floats(const T* from, int64_t count) {
  alignas(64) float values[N] = {};
  if (count >= N) {
    RONDO_SIMD
    for (int j = 0; j < N; ++j) values[j] = static_cast<float>(from[j]);
  } else {
    for (int j = 0; j < count; ++j) values[j] = static_cast<float>(from[j]);
  }
  return Vec<N>::load(values);
}
// Stores the first `count` values as T, and returns them as they were rounded.
template <int N, class T>
__device__ __forceinline__ Vec<N> store_some_as(T* to, const Vec<N>& values, int64_t count) {
  alignas(64) float rounded[N];
  T stored[N];
  values.store(rounded);
  RONDO_SIMD
  for (int j = 0; j < N; ++j) stored[j] = static_cast<T>(rounded[j]);
  if (count >= N)
    memcpy(to, stored, sizeof(stored));
  else
    for (int j = 0; j < count; ++j) to[j] = stored[j];
  RONDO_SIMD
  for (int j = 0; j < N; ++j) rounded[j] = static_cast<float>(stored[j]);
  return Vec<N>::load(rounded);
}

}  // namespace rondo
