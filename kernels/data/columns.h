// Columns of a matrix: in NHWC a row is a pixel and a column a channel, so this takes some channels out of a tensor, or puts
// them into it.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// to[i, j] = from[i, j]
//
// Both are rows x cols, each with a stride of its own: a view of columns [b, b + cols) of a matrix begins b elements later and
// has the matrix's stride. What lies between the columns is not touched. float32, any alignment of 4 bytes.
// The two must not overlap; different columns of one matrix do not. No elements do nothing. Errors:
// bad_argument for negative sizes, a stride below the columns, shapes that differ, null or misaligned
// pointers, an overlap. Traffic: one read, one write of each element.
[[nodiscard]] Status copy_columns(MatrixView<float> to, MatrixView<const float> from, cudaStream_t stream);

}  // namespace rondo
