// PartialMoments: the moments of the columns of each part of a matrix (column_moments.cuh).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace rondo {

// The moments of the parts of a matrix, in device memory.
struct PartialMoments {
  float* values = nullptr;  // [parts][3][stride()]; null: no moments are wanted
  int* rows = nullptr;      // [parts]
  int64_t columns = 0;

  __host__ __device__ int64_t stride() const { return (columns + 3) / 4 * 4; }
  __host__ __device__ float* means(int64_t part) const { return values + part * 3 * stride(); }
  __host__ __device__ float* mean_rests(int64_t part) const { return means(part) + stride(); }
  __host__ __device__ float* squared_deviations(int64_t part) const { return mean_rests(part) + stride(); }
};

}  // namespace rondo
