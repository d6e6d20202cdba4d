// Split-K: if a product has few results and a long sum, several blocks share one tile. Each block writes the
// sum over its part of k to the workspace. A second pass adds the parts in order, so the result is the same
// in every run, and applies the epilogue.
#pragma once

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

inline int64_t partials_bytes(int64_t rows, int64_t columns, int64_t count) {
  return saturating_product({rows, ceil_div<int64_t>(columns, 4), 4, count, sizeof(float)});
}

// to[row * row_stride + column * column_stride] = epilogue(sum of the parts). C: float, __nv_bfloat16 or
// __half.
template <class C>
Status sum_partials(const Partials& partials, C* to, int64_t row_stride, int64_t column_stride,
                    const Epilogue& epilogue, cudaStream_t stream);

}  // namespace rondo
