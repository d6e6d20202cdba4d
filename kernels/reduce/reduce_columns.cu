#include <rondo/kernels/reduce/reduce.h>
#include <rondo/kernels/reduce/column_reduction.cuh>
#include <rondo/kernels/reduce/reduce_operators.cuh>

namespace rondo {
namespace {

struct AlongColumns {
  static constexpr bool kOfRows = false;
  static int64_t workspace_bytes(int64_t rows, int64_t cols) {
    return reduce::column_workspace_bytes(rows, cols);
  }
  template <class... Arguments>
  static Status reduce(const Arguments&... arguments) {
    return reduce::column_reduction(arguments...);
  }
};

}  // namespace

int64_t reduce_columns_workspace_bytes(int64_t rows, int64_t cols) {
  return AlongColumns::workspace_bytes(rows, cols);
}

template <InputType T>
Status reduce_columns(VectorView<float> y, MatrixView<T> x, ReduceOperator op, Workspace workspace,
                      cudaStream_t stream) {
  return reduce::checked_reduction<AlongColumns>("reduce_columns", y, x, op, workspace, stream);
}
template <InputType T>
Status argmax_columns(VectorView<int64_t> index, MatrixView<T> x, Workspace workspace, cudaStream_t stream) {
  return reduce::checked_index<AlongColumns>("argmax_columns", index, x, 0, workspace, stream);
}
template <InputType T>
Status argmin_columns(VectorView<int64_t> index, MatrixView<T> x, Workspace workspace, cudaStream_t stream) {
  return reduce::checked_index<AlongColumns>("argmin_columns", index, x, reduce::kSign, workspace, stream);
}

#define RONDO_REDUCE_COLUMNS(T)                                                                   \
  template Status reduce_columns<T>(VectorView<float>, MatrixView<T>, ReduceOperator, Workspace,  \
                                    cudaStream_t);                                                \
  template Status argmax_columns<T>(VectorView<int64_t>, MatrixView<T>, Workspace, cudaStream_t); \
  template Status argmin_columns<T>(VectorView<int64_t>, MatrixView<T>, Workspace, cudaStream_t);
RONDO_FOR_INPUT_TYPES(RONDO_REDUCE_COLUMNS)

}  // namespace rondo
