// The kernel of transpose(), for operators that need a transposed operand.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// to[b, j, i] = from[b, i, j], as transpose() without its checks. The sides of `to` are not read. `name`: of
// the launch.
template <ValueType T>
Status copy_transposed(const char* name, MatrixBatchView<T> to, NonDeduced<MatrixBatchView<const T>> from,
                       cudaStream_t stream);

}  // namespace rondo
