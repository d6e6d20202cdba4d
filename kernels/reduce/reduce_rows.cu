#include <rondo/kernels/reduce/reduce.h>
#include <rondo/kernels/reduce/reduce_operators.cuh>
#include <rondo/kernels/reduce/row_reduction.cuh>

namespace rondo {
namespace {

struct AlongRows {
  static constexpr bool kOfRows = true;
  static int64_t workspace_bytes(int64_t rows, int64_t cols) {
    return reduce::row_workspace_bytes(rows, cols);
  }
  template <class... Arguments>
  static Status reduce(const Arguments&... arguments) {
    return reduce::row_reduction(arguments...);
  }
};

}  // namespace

int64_t reduce_rows_workspace_bytes(int64_t rows, int64_t cols) {
  return AlongRows::workspace_bytes(rows, cols);
}

template <InputType T>
Status reduce_rows(VectorView<float> y, MatrixView<T> x, ReduceOperator op, Workspace workspace,
                   cudaStream_t stream) {
  return reduce::checked_reduction<AlongRows>("reduce_rows", y, x, op, workspace, stream);
}
template <InputType T>
Status argmax_rows(VectorView<int64_t> index, MatrixView<T> x, Workspace workspace, cudaStream_t stream) {
  return reduce::checked_index<AlongRows>("argmax_rows", index, x, 0, workspace, stream);
}
template <InputType T>
Status argmin_rows(VectorView<int64_t> index, MatrixView<T> x, Workspace workspace, cudaStream_t stream) {
  return reduce::checked_index<AlongRows>("argmin_rows", index, x, reduce::kSign, workspace, stream);
}

#define RONDO_REDUCE_ROWS(T)                                                                                 \
  template Status reduce_rows<T>(VectorView<float>, MatrixView<T>, ReduceOperator, Workspace, cudaStream_t); \
  template Status argmax_rows<T>(VectorView<int64_t>, MatrixView<T>, Workspace, cudaStream_t);               \
  template Status argmin_rows<T>(VectorView<int64_t>, MatrixView<T>, Workspace, cudaStream_t);
RONDO_FOR_INPUT_TYPES(RONDO_REDUCE_ROWS)

}  // namespace rondo
