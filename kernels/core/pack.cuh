// Pack<T, N>: N contiguous elements that one thread loads or stores with one instruction.
//
// A warp that moves 16 bytes per thread needs a quarter of the instructions and has four times the bytes in
// flight, compared with 4 bytes per thread. The address must be aligned to the whole pack. On the host,
// pack_width() returns the widest pack that the pointers and sizes allow.
#pragma once

#include <rondo/kernels/core/loops.cuh>

#include <cuda_runtime.h>

#ifdef __SIMT__
#include <simt/alignment.h>
#include <simt/memory_access.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rondo {

// The widest pack, in floats: 16 bytes on a GPU. On a CPU one to four vector registers; the same for all
// instruction sets, because programs that include this header may be compiled for another one than Rondo.
inline constexpr int kWidestPack = kVectorTiles ? 16 : 4;

// An access to a pack may alias any other: packs of other widths, and single elements.
template <class T, int N>
struct [[gnu::may_alias]] alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Pack {
  static_assert(N * sizeof(T) <= 4 * kWidestPack);
  T v[N];
};

template <int N, class T>
__device__ __forceinline__ Pack<T, N> load_pack(const T* from) {
#ifdef __SIMT__
  simt::check_aligned<alignof(Pack<T, N>)>("a load of a Pack", from);
  return simt::load_value<Pack<T, N>>(from);
#else
  return *reinterpret_cast<const Pack<T, N>*>(from);
#endif
}

template <class T, int N>
__device__ __forceinline__ void store_pack(T* to, const Pack<T, N>& pack) {
#ifdef __SIMT__
  simt::check_aligned<alignof(Pack<T, N>)>("a store of a Pack", to);
  simt::store_value(to, pack);
#else
  // Stored as one integer: nvcc divides a struct into stores of its elements, and does not always join them
  // again (in two nested loops it did not, even for a float4). 64-bit elements are stored as a struct,
  // because the integer would take one more register.
  constexpr int kBytes = sizeof(Pack<T, N>);
  const auto* const bytes = reinterpret_cast<const char*>(&pack);
  if constexpr (sizeof(T) == 8) {
    *reinterpret_cast<Pack<T, N>*>(to) = pack;
  } else if constexpr (kBytes == 16) {
    uint64_t low, high;  // copied separately: otherwise nvcc keeps 16-bit elements in local memory
    memcpy(&low, bytes, 8);
    memcpy(&high, bytes + 8, 8);
    using Bits [[gnu::may_alias]] = unsigned __int128;
    *reinterpret_cast<Bits*>(to) = static_cast<unsigned __int128>(high) << 64 | low;
  } else if constexpr (kBytes == 8 || kBytes == 4) {
    using Bits [[gnu::may_alias]] = std::conditional_t<kBytes == 8, uint64_t, uint32_t>;
    Bits bits;
    memcpy(&bits, bytes, kBytes);
    *reinterpret_cast<Bits*>(to) = bits;
  } else {
    *reinterpret_cast<Pack<T, N>*>(to) = pack;
  }
#endif
}

// The widest pack (kMost, 4, 2 or 1 elements) for arrays of contiguous rows of `length` elements that begin
// at `pointers`.
template <int kMost = 4, class... T>
int pack_width(int64_t length, const T*... pointers) {
  const auto fits = [&](int width) {
    return length % width == 0 &&
           ((reinterpret_cast<uintptr_t>(pointers) % std::min<size_t>(width * sizeof(T), 16) == 0) && ...);
  };
  return fits(kMost) ? kMost : fits(4) ? 4 : fits(2) ? 2 : 1;
}

// Whether all rows of a matrix begin at multiples of 16 bytes.
template <class T>
bool rows_are_aligned(const T* data, int64_t rows, int64_t stride) {
  constexpr int64_t kPack = 16 / sizeof(T);
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && (rows <= 1 || stride % kPack == 0);
}

}  // namespace rondo
