// The gradient of a bias: the sum of the rows of a matrix.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// The most columns of dy: the second side of a grid has at most 65535 blocks.
inline constexpr int64_t kMostBiasColumns = 65535 * 32;

// The workspace in bytes for bias_gradient() of a [rows, cols] matrix; 0 if one pass is enough.
int64_t bias_gradient_workspace_bytes(int64_t rows, int64_t cols);

// db[j] = beta * db[j] + sum over i of dy[i, j]
//
// The gradient of b in y[i, j] = ... + b[j], where i runs over all positions (n, p, q) of an NHWC tensor or
// all samples of a batch. dy: [rows, cols] row-major, any stride >= cols. db: [cols], float32. dy: float32,
// bfloat16 or float16, aligned to its elements. If beta == 0, db is not read. If rows == 0, db = beta * db.
// Numerics: float sums. The longest chain of additions is about rows / 16384 + 80, so the error is below that
// number times 6e-8 * sum |dy|.
// Determinism: the order of the additions is fixed. It does not depend on the device, its number of
// multiprocessors or the alignment.
// Workspace: bias_gradient_workspace_bytes(). Aliasing: db overlaps neither dy nor the workspace.
// Errors: bad_argument for negative sizes, stride < cols, db.size != cols, null pointers, a workspace that is
// too small, an overlap, and more than kMostBiasColumns columns.
// Traffic: reads dy once; writes rows / 512 rows of partial sums and reads them again.
template <InputType T = const float>
[[nodiscard]] Status bias_gradient(VectorView<float> db, MatrixView<T> dy, float beta, Workspace workspace,
                                   cudaStream_t stream);

}  // namespace rondo
