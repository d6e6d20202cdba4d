// Copies columns of a matrix. In NHWC a row is a pixel and a column a channel, so this extracts channels from
// a tensor, or inserts them.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// to[i, j] = from[i, j]
//
// Both are rows x cols, each with its own stride. A view of columns [b, b + cols) of a matrix has an offset
// of b elements and the matrix's stride. Memory between the viewed columns is not touched. float32, 4-byte
// alignment. The two must not overlap; different columns of one matrix do not. An empty matrix does nothing.
// Errors: bad_argument for negative sizes, a stride below cols, different shapes, null or misaligned
// pointers, an overlap. Traffic: one read and one write per element.
[[nodiscard]] Status copy_columns(MatrixView<float> to, MatrixView<const float> from, cudaStream_t stream);

}  // namespace rondo
