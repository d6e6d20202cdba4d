// The partial sums of split-K (split_k.h), and the second pass, which adds them.
#pragma once

#include <rondo/kernels/gemm/split_k.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/gemm/epilogue.cuh>

namespace rondo {

// The partial sums of an m x n result, one part after the other. Rows are padded to a multiple of 4 floats.
struct Partials {
  float* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t count = 0;

  __host__ __device__ int64_t stride() const { return ceil_div<int64_t>(columns, 4) * 4; }
  __host__ __device__ int64_t part_size() const { return rows * stride(); }
  __host__ __device__ float* row(int64_t part, int64_t row) const {
    return data + part * part_size() + row * stride();
  }
};

// A part of a sum over k. All parts but the last ones have the same length, a multiple of `step`.
struct KRange {
  int begin, end;
};
__host__ __device__ __forceinline__ KRange part_of_k(int k, int step, int part, int parts) {
  const int64_t length = ceil_div<int64_t>(ceil_div<int64_t>(k, parts), step) * step, begin = part * length,
                end = begin + length;
  return {static_cast<int>(begin < k ? begin : k), static_cast<int>(end < k ? end : k)};
}

// to[row * row_stride + column * column_stride] = epilogue(sum of the parts). C: float, __nv_bfloat16 or
// __half.
template <class C>
Status sum_partials(const Partials& partials, C* to, int64_t row_stride, int64_t column_stride,
                    const GemmEpilogue& epilogue, cudaStream_t stream);

}  // namespace rondo
