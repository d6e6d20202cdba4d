// Sums of the values and of the squares of each column of a matrix: of a whole matrix, or from the moments of
// its parts (column_moments.cuh).
#pragma once

#include <rondo/kernels/core/size.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>
#include <rondo/kernels/reduce/partial_moments.h>

#include <cuda_runtime.h>

#include <cstdint>

namespace rondo {

// sums[c] = sum over i of x[i, c];   sums[columns + c] = sum over i of x[i, c]^2
//
// The order of the additions depends only on the number of rows. A thread adds up to 32 rows in compensated
// floats (column_moments.cuh); the sums of threads and blocks are added in double. A column whose squared
// differences leave the range of floats is added in double throughout. x: [rows, columns], row-major and
// packed, at most kMostMomentColumns columns. T: float, __nv_bfloat16 or __half. `name` is the name of the
// calling operation and of the launches. The caller checks the arguments.
template <class T>
Status add_moments(const char* name, double* sums, const T* x, int64_t rows, int64_t columns,
                   Workspace workspace, cudaStream_t stream);
// The same sums for each block of `rows_per_block` rows. sums: [blocks, 2, columns].
template <class T>
Status add_moments_of_blocks(const char* name, double* sums, const T* x, int64_t rows, int64_t columns,
                             int64_t rows_per_block, cudaStream_t stream);
inline constexpr int64_t kMostMomentColumns = int64_t{1} << 20;  // the grid has at most 65535 blocks of 32
int64_t moments_workspace_bytes(int64_t rows, int64_t columns);

// The place of the moments of up to `parts` parts in a workspace of partial_moments_bytes().
PartialMoments partial_moments(Workspace workspace, int64_t parts, int64_t columns);
int64_t partial_moments_bytes(int64_t parts, int64_t columns);

// The sums of add_moments() from the moments of `parts` parts, in the order of the parts. `workspace`: that
// of partial_moments().
Status add_partial_moments(const char* name, double* sums, const PartialMoments& moments, int64_t parts,
                           Workspace workspace, cudaStream_t stream);

}  // namespace rondo
