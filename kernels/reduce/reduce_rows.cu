#include <rondo/kernels/reduce/reduce.h>
#include <rondo/kernels/core/pack.cuh>
#include <rondo/kernels/reduce/reduce_operators.cuh>
#include <rondo/kernels/reduce/row_reduction.cuh>

namespace rondo {
namespace {

template <class T>
Status reduce_rows_by(VectorView<float> y, MatrixView<const T> x, ReduceOperator op, Workspace workspace,
                      cudaStream_t stream) {
  constexpr const char* kName = "reduce_rows";
  ArgumentCheck check(kName);
  check.enumerator("op", op, ReduceOperator::max_norm);
  reduce::check_operands(check, "y", y, x, x.rows, "rows", workspace,
                         reduce_rows_workspace_bytes(x.rows, x.cols));
  RONDO_RETURN_IF_ERROR(check.status());
  return reduce::with_reducer(op, [&](const auto& reducer) {
    return reduce::row_reduction(kName, reducer, y.data, x, rows_are_aligned(x.data, x.rows, x.stride),
                                 workspace, stream);
  });
}

template <class T>
Status index_in_rows(const char* name, VectorView<int64_t> index, MatrixView<const T> x, uint32_t flip,
                     Workspace workspace, cudaStream_t stream) {
  ArgumentCheck check(name);
  reduce::check_operands(check, "index", index, x, x.rows, "rows", workspace,
                         reduce_rows_workspace_bytes(x.rows, x.cols));
  reduce::check_index(check, x.cols, "cols");
  RONDO_RETURN_IF_ERROR(check.status());
  return reduce::row_reduction(name, reduce::IndexOfExtreme{flip}, index.data, x,
                               rows_are_aligned(x.data, x.rows, x.stride), workspace, stream);
}

}  // namespace

int64_t reduce_rows_workspace_bytes(int64_t rows, int64_t cols) {
  return reduce::row_workspace_bytes(rows, cols);
}

template <InputType T>
Status reduce_rows(VectorView<float> y, MatrixView<T> x, ReduceOperator op, Workspace workspace,
                   cudaStream_t stream) {
  return reduce_rows_by<std::remove_const_t<T>>(y, x, op, workspace, stream);
}
template <InputType T>
Status argmax_rows(VectorView<int64_t> index, MatrixView<T> x, Workspace workspace, cudaStream_t stream) {
  return index_in_rows<std::remove_const_t<T>>("argmax_rows", index, x, 0, workspace, stream);
}
template <InputType T>
Status argmin_rows(VectorView<int64_t> index, MatrixView<T> x, Workspace workspace, cudaStream_t stream) {
  return index_in_rows<std::remove_const_t<T>>("argmin_rows", index, x, reduce::kSign, workspace, stream);
}

#define RONDO_REDUCE_ROWS(T)                                                                                 \
  template Status reduce_rows<T>(VectorView<float>, MatrixView<T>, ReduceOperator, Workspace, cudaStream_t); \
  template Status argmax_rows<T>(VectorView<int64_t>, MatrixView<T>, Workspace, cudaStream_t);               \
  template Status argmin_rows<T>(VectorView<int64_t>, MatrixView<T>, Workspace, cudaStream_t);
RONDO_FOR_INPUT_TYPES(RONDO_REDUCE_ROWS)

}  // namespace rondo
