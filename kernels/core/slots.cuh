// Splits a flat array among the threads of a kernel. The array is cut at 16-byte boundaries into slots of N
// elements, and each thread processes kPerThread slots. On a GPU, neighbouring threads take neighbouring
// slots, so that a warp's accesses are contiguous. On a CPU, where a thread has vector registers, the slots
// of one thread are neighbours, and each thread takes more of them.
#pragma once

#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/loops.cuh>

#include <algorithm>
#include <cstdint>

namespace rondo::slots {

inline constexpr int kThreads = kVectorTiles ? 32 : 256;  // of a block
inline constexpr int kPerThread = kVectorTiles ? 16 : 4;

// The number of elements from the last 16-byte boundary at or before `data` to `data`. The first slot is
// shorter by this number.
template <class T>
int lead_of(const T* data) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(data) % 16 / sizeof(T));
}

// The alignment of the flat arrays of one kernel. lead: lead_of() the array with the narrowest elements.
// packed: each 16-byte boundary of that array is one of all others at the same element. Arrays of wider
// elements have more boundaries.
struct Boundaries {
  int lead;
  bool packed;
};
template <class... T>
Boundaries boundaries_of(const T*... data) {
  constexpr size_t kNarrowest = std::min({sizeof(T)...});
  int lead = 0;
  ((sizeof(T) == kNarrowest ? static_cast<void>(lead = lead_of(data)) : void()), ...);
  return {lead, ((lead_of(data) == lead % static_cast<int>(16 / sizeof(T))) && ...)};
}

// The index of the first element of the calling thread's first slot. The thread's next slots follow at a
// distance of kStepOf<N> elements. The index is negative, or past the end, for slots that reach outside the
// array.
template <int N>
__device__ __forceinline__ int64_t first_begin(int lead) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (kThreads * kPerThread);
  return (first + threadIdx.x * (kVectorTiles ? kPerThread : 1)) * N - lead;
}
template <int N>
inline constexpr int kStepOf = N*(kVectorTiles ? 1 : kThreads);

// Processes one slot of N elements, which begins at index `begin`. If the slot lies within the array and
// `packed` is true, calls pack(). Otherwise calls element(i) for each index i of the slot that is within the
// array. `packed`: all arrays of the kernel have the same offset from a 16-byte boundary.
template <int N, class Pack, class Element>
__device__ __forceinline__ void visit(int64_t begin, int64_t size, bool packed, Pack pack, Element element) {
  if (packed && begin >= 0 && begin + N <= size) {
    pack();
  } else {
    for (int j = 0; j < N; ++j)
      if (begin + j >= 0 && begin + j < size) element(begin + j);
  }
}

template <int N>
LaunchShape shape_of(int64_t size, int lead) {
  return flat_shape(size == 0 ? 0 : size + lead, kThreads, N * kPerThread);
}

}  // namespace rondo::slots
