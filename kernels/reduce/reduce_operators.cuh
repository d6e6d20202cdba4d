// What the reductions over rows and over columns have in common: the checks, and the choice of the reducer.
//
// `Along` is the direction, a struct with
//   kOfRows                                                  a result for each row; otherwise for each column
//   workspace_bytes(rows, cols)
//   reduce(name, reducer, y, x, aligned, workspace, stream)  the launch of the kernels
#pragma once

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/reduce/reduce.h>
#include <rondo/kernels/core/pack.cuh>
#include <rondo/kernels/reduce/reducers.cuh>

#include <cmath>
#include <type_traits>

namespace rondo::reduce {

// start(reducer) with the reducer of the operator.
template <class Start>
Status with_reducer(ReduceOperator op, Start start) {
  switch (op) {
    case ReduceOperator::max:
      return start(Extreme{kAllBits, 0, -INFINITY});
    case ReduceOperator::min:
      return start(Extreme{kAllBits, kSign, INFINITY});
    case ReduceOperator::max_norm:
      return start(Extreme{~kSign, 0, 0});
    case ReduceOperator::l2_norm:
      return start(SquareRoot{});
    case ReduceOperator::l1_norm:
      return start(Sum{~kSign, false});
    case ReduceOperator::sum:
    case ReduceOperator::mean:
      break;
  }
  return start(Sum{kAllBits, op == ReduceOperator::mean});
}

template <class Along, class Result, class T>
void check_operands(ArgumentCheck& check, const char* name, VectorView<Result> y, MatrixView<const T> x,
                    Workspace workspace) {
  const int64_t results = Along::kOfRows ? x.rows : x.cols;
  check.output(name, y);
  check.input("x", x);
  check.require(y.size == results, name, ".size is ", y.size, ", must be x.",
                Along::kOfRows ? "rows" : "cols", " = ", results);
  check.workspace(workspace, Along::workspace_bytes(x.rows, x.cols));
}

// y = op of the values of each row or column.
template <class Along, class T>
Status checked_reduction(const char* name, VectorView<float> y, MatrixView<T> mutable_x, ReduceOperator op,
                         Workspace workspace, cudaStream_t stream) {
  const MatrixView<const std::remove_const_t<T>> x = mutable_x;
  ArgumentCheck check(name);
  check.enumerator("op", op, ReduceOperator::max_norm);
  check_operands<Along>(check, "y", y, x, workspace);
  RONDO_RETURN_IF_ERROR(check.status());
  return with_reducer(op, [&](const auto& reducer) {
    return Along::reduce(name, reducer, y.data, x, rows_are_aligned(x.data, x.rows, x.stride), workspace,
                         stream);
  });
}

// index = the position of the largest value, or with `flip` kSign of the smallest.
template <class Along, class T>
Status checked_index(const char* name, VectorView<int64_t> index, MatrixView<T> mutable_x, uint32_t flip,
                     Workspace workspace, cudaStream_t stream) {
  const MatrixView<const std::remove_const_t<T>> x = mutable_x;
  const int64_t values = Along::kOfRows ? x.cols : x.rows;
  ArgumentCheck check(name);
  check_operands<Along>(check, "index", index, x, workspace);
  check.require(values <= INT32_MAX, "x.", Along::kOfRows ? "cols" : "rows", " is ", values,
                ", must be at most ", INT32_MAX, " for an index");
  RONDO_RETURN_IF_ERROR(check.status());
  return Along::reduce(name, IndexOfExtreme{flip}, index.data, x, rows_are_aligned(x.data, x.rows, x.stride),
                       workspace, stream);
}

}  // namespace rondo::reduce
