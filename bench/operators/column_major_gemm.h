// The arguments of a column-major library (cuBLAS) for a product of row-major matrices.
#pragma once

#include <rondo/bench/operators/product_shape.h>

#include <cstdint>

namespace rondo::bench {

// The column-major product result = op(first) op(second), where op() transposes if asked to. The result is
// m x n, op(first) m x k and op(second) k x n. Element (i, j) of a stored matrix is at index i + j * its
// leading dimension.
template <class T>
struct ColumnMajorGemm {
  bool transpose_first, transpose_second;
  int64_t m, n, k;
  const T* first;
  int64_t first_ld;
  const T* second;
  int64_t second_ld;
  int64_t result_ld;
};

// For the packed row-major C = op(A) op(B) of this shape. A row-major matrix is its transpose in column-major
// order, so the library computes C^T = op(B)^T op(A)^T: B comes first, and a factor that is transposed for
// Rondo is transposed for the library, too.
template <class T>
ColumnMajorGemm<T> column_major_gemm(const ProductShape& shape, const T* a, const T* b) {
  const auto [m, n, k] = shape.size;
  return {.transpose_first = shape.transpose_b,
          .transpose_second = shape.transpose_a,
          .m = n,
          .n = m,
          .k = k,
          .first = b,
          .first_ld = shape.transpose_b ? k : n,
          .second = a,
          .second_ld = shape.transpose_a ? m : k,
          .result_ld = n};
}

}  // namespace rondo::bench
