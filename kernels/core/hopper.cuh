// What the wrappers of Hopper's instructions (ptx/) share.
#pragma once

#include <cuda_runtime.h>

#ifdef __SIMT__
#include <simt/barrier.h>
#endif

namespace rondo {

// The place of a call in the source, for the faults of the CPU executor: a default argument of the wrappers.
// On a GPU it is empty.
#ifdef __SIMT__
using Place = simt::Place;
#else
struct Place {
  __host__ __device__ static constexpr Place current() { return {}; }
};
#endif

// Whether the architecture that is being compiled for has the instructions of sm_90a. Kernels that need them
// begin with `if constexpr (!kHasSm90a) return __trap();`: nvcc would spend as much time on the rest of the
// kernel as for sm_90a, for each of the other architectures.
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool kHasSm90a = true;
#else
inline constexpr bool kHasSm90a = false;
#endif

}  // namespace rondo

// Inline assembly that needs sm_90, or sm_90a. A build may also compile its kernel for other architectures,
// where the host never launches it: there it is a trap.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define RONDO_SM90_ASM(...) asm volatile(__VA_ARGS__)
#else
#define RONDO_SM90_ASM(...) __trap()
#endif
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define RONDO_SM90A_ASM(...) asm volatile(__VA_ARGS__)
#else
#define RONDO_SM90A_ASM(...) __trap()
#endif

// The first argument on the executor, and otherwise the inline assembly.
#ifdef __SIMT__
#define RONDO_SIMT_OR_SM90_ASM(simt, ...) simt
#define RONDO_SIMT_OR_SM90A_ASM(simt, ...) simt
#else
#define RONDO_SIMT_OR_SM90_ASM(simt, ...) RONDO_SM90_ASM(__VA_ARGS__)
#define RONDO_SIMT_OR_SM90A_ASM(simt, ...) RONDO_SM90A_ASM(__VA_ARGS__)
#endif
