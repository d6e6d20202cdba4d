// Indices<N>: the positions h * width + w of N maxima, in neighbouring channels.
#pragma once

#include <rondo/kernels/core/pack.cuh>

#include <cstdint>

namespace rondo::pool {

template <int N>
struct Indices {
  int32_t v[N];

  static __device__ Indices all(int32_t index) {
    Indices indices;
    RONDO_SIMD
    for (int k = 0; k < N; ++k) indices.v[k] = index;
    return indices;
  }
  // Bit k: v[k] is `index`.
  __device__ unsigned lanes_of(int32_t index) const {
    unsigned lanes = 0;
    RONDO_UNROLL
    for (int k = 0; k < N; ++k) lanes |= static_cast<unsigned>(v[k] == index) << k;
    return lanes;
  }
};

// Aligned to N indices, or to 16 bytes if that is less. Those of a thread with vector registers may begin
// anywhere.
template <int N>
__device__ __forceinline__ Indices<N> load_indices(const int32_t* from) {
  constexpr int kAtOnce = kVectorTiles ? 1 : N < 4 ? N : 4;
  Indices<N> indices;
  RONDO_UNROLL_ON_GPU
  for (int i = 0; i < N; i += kAtOnce) {
    const auto pack = load_pack<kAtOnce>(from + i);
    RONDO_SIMD
    for (int k = 0; k < kAtOnce; ++k) indices.v[i + k] = pack.v[k];
  }
  return indices;
}
template <int N>
__device__ __forceinline__ void store_indices(int32_t* to, const Indices<N>& indices) {
  constexpr int kAtOnce = kVectorTiles ? 1 : N < 4 ? N : 4;
  RONDO_UNROLL_ON_GPU
  for (int i = 0; i < N; i += kAtOnce) {
    Pack<int32_t, kAtOnce> pack;
    RONDO_SIMD
    for (int k = 0; k < kAtOnce; ++k) pack.v[k] = indices.v[i + k];
    store_pack(to + i, pack);
  }
}

}  // namespace rondo::pool
