// Function qualifiers and built-in variables (threadIdx and so on).
#pragma once

#include <vector_types.h>

// The counterpart of nvcc's __CUDACC__: sources can distinguish the two targets.
#define __SIMT__ 1

// SIMT_TRANSLATE: a source in CUDA C++ is preprocessed, and these words stay for tools/simt/translate.
#ifndef SIMT_TRANSLATE
// Kernels are hidden, as nvcc makes them: a shared library must launch its own, not that of another one which
// contains the same kernel.
#define __global__ __attribute__((visibility("hidden")))
#define __device__
#define __host__
#define __constant__
#endif
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

// A block runs on a single OS thread, so these are thread-local variables. The scheduler sets threadIdx when
// it switches CUDA threads.
inline thread_local constinit uint3 threadIdx = {0, 0, 0};
inline thread_local constinit uint3 blockIdx = {0, 0, 0};
inline thread_local constinit dim3 blockDim = {1, 1, 1};
inline thread_local constinit dim3 gridDim = {1, 1, 1};

inline constexpr int warpSize = 32;

namespace simt {
inline thread_local constinit unsigned thread_rank = 0;  // linear index of threadIdx, x fastest
inline int lane_id() { return static_cast<int>(thread_rank % 32); }
}  // namespace simt
