// Qualifiers of functions, and the built-in variables that say which CUDA thread is running.
#pragma once

#include <vector_types.h>

// Set by this runtime as __CUDACC__ is by nvcc: the same sources can tell the two targets apart.
#define __SIMT__ 1

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

// A block stays on one OS thread from its start to its end, so these are plain variables of that OS thread;
// the scheduler sets threadIdx whenever another CUDA thread goes on.
inline thread_local constinit uint3 threadIdx = {0, 0, 0};
inline thread_local constinit uint3 blockIdx = {0, 0, 0};
inline thread_local constinit dim3 blockDim = {1, 1, 1};
inline thread_local constinit dim3 gridDim = {1, 1, 1};

inline constexpr int warpSize = 32;

namespace simt {
inline thread_local constinit unsigned thread_rank = 0;  // threadIdx as one number, x fastest
inline int lane_id() { return static_cast<int>(thread_rank % 32); }
}  // namespace simt
