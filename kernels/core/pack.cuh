// Pack<T, N>: N neighbours in memory that one thread loads or stores with one instruction.
//
// A warp that moves 16 bytes a thread needs a quarter of the instructions and keeps four times the bytes in
// flight. The address must be aligned to the whole pack; pack_width() says, on the host, how wide packs may
// be.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace rondo {

template <class T, int N>
struct alignas(N * sizeof(T)) Pack {
  static_assert(N * sizeof(T) <= 16, "16 bytes are the widest access");
  T v[N];
};

template <int N, class T>
__device__ __forceinline__ Pack<T, N> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, N>*>(from);
}

template <class T, int N>
__device__ __forceinline__ void store_pack(T* to, const Pack<T, N>& pack) {
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

// The widest of 4, 2 and 1 elements for rows of `length` elements that begin at `pointers`, one behind the
// other.
template <class... T>
int pack_width(int64_t length, const T*... pointers) {
  const auto fits = [&](int width) {
    return length % width == 0 && ((reinterpret_cast<uintptr_t>(pointers) % (width * sizeof(T)) == 0) && ...);
  };
  return fits(4) ? 4 : fits(2) ? 2 : 1;
}

}  // namespace rondo
