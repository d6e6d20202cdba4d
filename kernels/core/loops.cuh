// Loops over the values of one thread.
#pragma once

// Unrolls the following loop: completely (its bounds are compile-time constants), or N times. RONDO_SIMD
// marks a loop that applies the same operation to contiguous values of one thread. On a GPU it becomes
// consecutive instructions. On a CPU it becomes one vector instruction: g++ vectorises the loop only if it is
// not unrolled before. RONDO_UNROLL_ON_GPU is for loops over many registers: a CPU has these
// values in memory, and the loop as it is compiles in a fraction of the time.
#ifdef __SIMT__
#define RONDO_UNROLL _Pragma("GCC unroll 64")
#define RONDO_UNROLL_BY(N) RONDO_PRAGMA(GCC unroll N)
#define RONDO_SIMD _Pragma("GCC unroll 1")
#define RONDO_UNROLL_ON_GPU
#else
#define RONDO_UNROLL _Pragma("unroll")
#define RONDO_UNROLL_BY(N) RONDO_PRAGMA(unroll N)
#define RONDO_SIMD _Pragma("unroll")
#define RONDO_UNROLL_ON_GPU _Pragma("unroll")
#endif
#define RONDO_PRAGMA(text) _Pragma(#text)

namespace rondo {

// Whether threads are fibers of the CPU executor that have vector registers. Such a thread takes more values.
// Not in a build that observes kernels, which has the GPU's accesses.
#if defined(__SIMT__) && !defined(SIMT_OBSERVE)
inline constexpr bool kVectorTiles = true;
#else
inline constexpr bool kVectorTiles = false;
#endif

}  // namespace rondo
