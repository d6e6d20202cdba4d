// A bound of the workspaces of all products up to a size, without a look at each of them.
#pragma once

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/gemm/gemm_options.h>

namespace rondo {

// At least gemm_workspace_bytes() of every product whose m, n and k are at most those of `shape`. It is more
// than the largest of them by at most most_partial_bytes(), or 39 MB of stream-K, where m, n and k are large.
int64_t gemm_workspace_bound(const GemmShape& shape, const GemmOptions& options = {},
                             DType type = DType::float32);

}  // namespace rondo
