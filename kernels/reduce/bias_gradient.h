// The gradient of a bias: the sum of the rows of a matrix.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// Bytes of workspace that bias_gradient() wants for a [rows, cols] matrix; 0 when one pass is enough.
int64_t bias_gradient_workspace_bytes(int64_t rows, int64_t cols);

// db[j] = beta * db[j] + sum over i of dy[i, j]
//
// For y[i, j] = ... + b[j] over i = all positions (n, p, q) of an NHWC tensor or all samples of a batch.
// dy is [rows, cols] row-major with any stride >= cols, db has cols elements; float32, 4-byte alignment is
// enough. beta == 0 never reads db. rows == 0 gives db = beta * db. Numerics: float sums. The longest chain
// of additions is about rows / 16384 + 80, so the error is below that many units of 6e-8 of sum |dy|.
// Determinism: row i always meets the same partners in the same order, whatever the device, its number of
// multiprocessors or the alignment.
// Workspace: bias_gradient_workspace_bytes(). Aliasing: db overlaps neither dy nor the workspace.
// Errors: bad_argument for negative sizes, stride < cols, db.size != cols, null pointers, a workspace too
// small, an overlap, and 2^21 columns or more. Traffic: reads dy once; writes rows / 512 rows of partial sums
// and reads them again.
[[nodiscard]] Status bias_gradient(VectorView<float> db, MatrixView<const float> dy, float beta,
                                   Workspace workspace, cudaStream_t stream);

}  // namespace rondo
