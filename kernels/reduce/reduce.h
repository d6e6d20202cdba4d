// Reductions over the rows and the columns of a matrix.
//
// x: [rows, cols] row-major, with any stride; float32, bfloat16 or float16, aligned to the elements. Results
// are float32, or int64 for indices. No units. The functions for rows have one result for each row; those for
// columns have one for each column.
//
// Numerics: sums are float32. Of n values the error is below 2^-24 sum |x| times the length of the longest
// chain of additions: 20 + n / 2^18 for rows, and 48 for columns up to 512 rows, 96 up to 2^18, 144 up to
// 2^27. The L2 norm is computed in double and rounded once; it neither overflows nor loses small values
// before the result does. max, min and indices are exact; -0 is below +0, except for indices, where they are
// equal.
// NaN: results of rows or columns with a NaN are NaN, as in PyTorch; its index is the first NaN's, both of
// argmax and of argmin. An infinity makes a sum infinite, or NaN with one of the other sign.
// Without values (cols == 0 or rows == 0): sum and norms are 0, mean is NaN, max is -infinity, min +infinity,
// and indices are -1.
// Determinism: the order of the additions depends only on cols (functions for rows) or rows (for columns),
// not on the other side, the alignment or the device. The same bits on every device.
// Workspace: the size functions below, for all operators; 0 up to 8192 columns, or 512 rows.
// Aliasing: nothing may overlap.
// Errors: bad_argument for an unknown operator, negative sizes, a stride below cols, a size of the result
// that is not x.rows (or x.cols), null or misaligned pointers, an overlap, a workspace that is too small; and
// for an index in 2^31 values or more.
// Traffic: reads x once; a workspace has 4 or 8 bytes for each 8192 (rows) or 512 (columns) values. Accesses
// of 16 bytes where all rows begin at multiples of 16 bytes.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

namespace rondo {

// l1_norm: the sum of |x|; l2_norm: the root of the sum of x^2; max_norm: the largest |x|.
enum class ReduceOperator : uint8_t { sum, mean, max, min, l1_norm, l2_norm, max_norm };

// The workspace in bytes of the reductions of a [rows, cols] matrix.
int64_t reduce_rows_workspace_bytes(int64_t rows, int64_t cols);
int64_t reduce_columns_workspace_bytes(int64_t rows, int64_t cols);

// y[i] = op over j of x[i, j]
template <InputType T = const float>
[[nodiscard]] Status reduce_rows(VectorView<float> y, MatrixView<T> x, ReduceOperator op, Workspace workspace,
                                 cudaStream_t stream);

// y[j] = op over i of x[i, j]
template <InputType T = const float>
[[nodiscard]] Status reduce_columns(VectorView<float> y, MatrixView<T> x, ReduceOperator op,
                                    Workspace workspace, cudaStream_t stream);

// index[i] = the smallest j for which x[i, j] is the largest (argmax) or smallest (argmin) value of row i
template <InputType T = const float>
[[nodiscard]] Status argmax_rows(VectorView<int64_t> index, MatrixView<T> x, Workspace workspace,
                                 cudaStream_t stream);
template <InputType T = const float>
[[nodiscard]] Status argmin_rows(VectorView<int64_t> index, MatrixView<T> x, Workspace workspace,
                                 cudaStream_t stream);

// index[j] = the smallest i for which x[i, j] is the largest or smallest value of column j
template <InputType T = const float>
[[nodiscard]] Status argmax_columns(VectorView<int64_t> index, MatrixView<T> x, Workspace workspace,
                                    cudaStream_t stream);
template <InputType T = const float>
[[nodiscard]] Status argmin_columns(VectorView<int64_t> index, MatrixView<T> x, Workspace workspace,
                                    cudaStream_t stream);

}  // namespace rondo
