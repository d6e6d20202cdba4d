// How the threads of a kernel share a flat array: in slots of kSlotFloats, at the 16-byte boundaries of memory, some to
// each thread. Neighbouring threads of a GPU take neighbouring slots, so that a warp's accesses are contiguous; where a
// thread has vector registers, its own slots are neighbours, and there are more of them.
#pragma once

#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>

#include <cstdint>

namespace rondo::slots {

inline constexpr bool kVectors = kVectorRegisters.count > 0;
inline constexpr int kThreads = 256;
inline constexpr int kSlotFloats = kWidestPack;
inline constexpr int kPerThread = kVectors ? 16 : 4;

// Floats between the last boundary that is not behind the array's begin and that begin: the first slot is short by so many.
template <class T>
int lead_of(const T* data) {
  return static_cast<int>(reinterpret_cast<uintptr_t>(data) % 16 / sizeof(T));
}

// Where the calling thread's first slot begins, and how many floats behind it the next; before the array, or behind its
// end, for slots that stick out.
__device__ __forceinline__ int64_t first_begin(int lead) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (kThreads * kPerThread);
  return (first + threadIdx.x * (kVectors ? kPerThread : 1)) * kSlotFloats - lead;
}
inline constexpr int kStep = kSlotFloats * (kVectors ? 1 : kThreads);

// One slot of N elements: pack() where it lies within the array and the array's pointers are aligned alike
// (`packed`), else element(i) for each of its elements that the array has.
template <int N, class Pack, class Element>
__device__ __forceinline__ void visit(int64_t begin, int64_t size, bool packed, Pack pack, Element element) {
  if (packed && begin >= 0 && begin + N <= size) {
    pack();
  } else {
    for (int j = 0; j < N; ++j)
      if (begin + j >= 0 && begin + j < size) element(begin + j);
  }
}

inline LaunchShape shape_of(int64_t size, int lead) {
  return {.grid_x = size == 0 ? 0 : ceil_div<int64_t>(size + lead, kSlotFloats * kThreads * kPerThread),
          .block_x = kThreads};
}

}  // namespace rondo::slots
