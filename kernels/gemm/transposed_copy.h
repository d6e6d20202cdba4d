// Transposed copies of matrices, for kernels that read both factors along the sum: in tf32, wgmma supports no
// other order.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>

#include <cstdint>

namespace rondo {

// to[b * to_batch + j * to_stride + i] = from[b * from_batch + i * from_stride + j], for i < rows, j < cols
// and b < batch. Strides are in elements.
struct TransposedCopy {
  float* to;
  const float* from;
  int64_t rows, cols;
  int64_t to_stride, from_stride;
  int64_t batch = 1, to_batch = 0, from_batch = 0;
};

// `name`: of the launch. The arrays do not overlap, which is not checked.
Status copy_transposed(const char* name, const TransposedCopy& copy, cudaStream_t stream);

}  // namespace rondo
