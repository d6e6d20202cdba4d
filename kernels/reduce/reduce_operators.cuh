// What the reductions over rows and over columns have in common: the checks, and the choice of the reducer.
#pragma once

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/reduce/reduce.h>
#include <rondo/kernels/reduce/reducers.cuh>

#include <cmath>

namespace rondo::reduce {

// `results`: the side of x that y has, by its name.
template <class Result, class T>
void check_operands(ArgumentCheck& check, const char* name, VectorView<Result> y, MatrixView<const T> x,
                    int64_t results, const char* side, Workspace workspace, int64_t bytes) {
  check.output(name, y);
  check.input("x", x);
  check.require(y.size == results, name, ".size is ", y.size, ", must be x.", side, " = ", results);
  check.workspace(workspace, bytes);
}

// `values`: of a row or column.
inline void check_index(ArgumentCheck& check, int64_t values, const char* side) {
  check.require(values <= INT32_MAX, "x.", side, " is ", values, ", must be at most ", INT32_MAX,
                " for an index");
}

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

}  // namespace rondo::reduce
