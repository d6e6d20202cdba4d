#include <rondo/bench/operators/operators.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/reduce/moments.h>
#include <rondo/kernels/reduce/reduce.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondo::bench {
namespace {

constexpr int64_t kCheckedColumns = 31;

// Whether found(column, 1) is the sum of a column of x, and found(column, 2) that of its squares.
template <class T, class Found>
bool are_sums(int64_t rows, int64_t cols, const T* x, int powers, const Found& found) {
  return check_some(
      cols,
      [&](int64_t column) {
        for (int power = 1; power <= powers; ++power) {
          double sum = 0, magnitude = 0;
          for (int64_t row = 0; row < rows; ++row) {
            const double value = static_cast<float>(x[row * cols + column]);
            const double term = power == 1 ? value : value * value;
            sum += term, magnitude += std::abs(term);
          }
          if (!(std::abs(found(column, power) - sum) <= 1e-5 * magnitude)) return false;
        }
        return true;
      },
      kCheckedColumns);
}

template <class T>
OperatorCall bias_call(int64_t rows, int64_t cols) {
  OperatorCall call;
  OperandList& list = call.operands;
  const int64_t bytes = bias_gradient_workspace_bytes(rows, cols);
  const auto dy = list.input<T>(saturating_product({rows, cols}));
  const auto db = list.result<float>(cols);
  const auto workspace = list.scratch(bytes);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    return bias_gradient({o[db], cols}, matrix(o[dy], rows, cols), 0, {o[workspace], bytes}, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return are_sums(rows, cols, host.after(dy), 1,
                    [&](int64_t column, int) { return double{host.after(db)[column]}; });
  };
  return call;
}

template <class T>
OperatorCall moments_call(int64_t rows, int64_t cols) {
  if (cols > kMostMomentColumns)
    throw Error(bad_argument("cols is ", cols, ", must be at most ", kMostMomentColumns));
  OperatorCall call;
  OperandList& list = call.operands;
  const int64_t bytes = moments_workspace_bytes(rows, cols);
  const auto x = list.input<T>(saturating_product({rows, cols}));
  const auto sums = list.result<double>(2 * cols);
  const auto workspace = list.scratch(bytes);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    return add_moments<T>("moments", o[sums], o[x], rows, cols, {o[workspace], bytes}, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return are_sums(rows, cols, host.after(x), 2,
                    [&](int64_t column, int power) { return host.after(sums)[(power - 1) * cols + column]; });
  };
  return call;
}

// ---- Reductions of rows and of columns ----

struct Reduction {
  const char* kind;
  bool of_rows;  // a result for each row
  ReduceOperator op = ReduceOperator::sum;
};
constexpr Reduction kReductions[] = {{"sum_rows", true},
                                     {"sum_columns", false},
                                     {"max_rows", true, ReduceOperator::max},
                                     {"max_columns", false, ReduceOperator::max},
                                     {"l2_norm_rows", true, ReduceOperator::l2_norm},
                                     {"l2_norm_columns", false, ReduceOperator::l2_norm}};
constexpr Reduction kIndices[] = {{"argmax_rows", true}, {"argmax_columns", false}};

int64_t reduction_workspace_bytes(const Reduction& of, int64_t rows, int64_t cols) {
  return of.of_rows ? reduce_rows_workspace_bytes(rows, cols) : reduce_columns_workspace_bytes(rows, cols);
}

// Calls visit(i, value) for the values of which element `at` of the result is made.
template <class T, class Visit>
void visit_values(const Reduction& of, int64_t rows, int64_t cols, const T* x, int64_t at,
                  const Visit& visit) {
  for (int64_t i = 0; i < (of.of_rows ? cols : rows); ++i)
    visit(i, value_at(x, of.of_rows ? at * cols + i : i * cols + at));
}

template <class T>
OperatorCall reduction_call(const Reduction& of, int64_t rows, int64_t cols) {
  OperatorCall call;
  OperandList& list = call.operands;
  const int64_t bytes = reduction_workspace_bytes(of, rows, cols), results = of.of_rows ? rows : cols;
  const auto x = list.input<T>(saturating_product({rows, cols}));
  const auto y = list.result<float>(results);
  const auto workspace = list.scratch(bytes);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const VectorView<float> to = {o[y], results};
    const MatrixView<const T> from = matrix<const T>(o[x], rows, cols);
    const Workspace scratch = {o[workspace], bytes};
    return of.of_rows ? reduce_rows(to, from, of.op, scratch, stream)
                      : reduce_columns(to, from, of.op, scratch, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return check_some(
        results,
        [&](int64_t at) {
          double sum = 0, magnitude = 0, squares = 0, most = -std::numeric_limits<double>::infinity();
          visit_values(of, rows, cols, host.after(x), at, [&](int64_t, double value) {
            sum += value, magnitude += std::abs(value), squares += value * value,
                most = std::max(most, value);
          });
          const double found = double{host.after(y)[at]};
          if (of.op == ReduceOperator::max) return found == most;
          if (of.op == ReduceOperator::l2_norm)
            return std::abs(found - std::sqrt(squares)) <= 1e-5 * std::sqrt(squares);
          return std::abs(found - sum) <= 1e-5 * magnitude;
        },
        kCheckedColumns);
  };
  return call;
}

template <class T>
OperatorCall index_call(const Reduction& of, int64_t rows, int64_t cols) {
  OperatorCall call;
  OperandList& list = call.operands;
  const int64_t bytes = reduction_workspace_bytes(of, rows, cols), results = of.of_rows ? rows : cols;
  const auto x = list.input<T>(saturating_product({rows, cols}));
  const auto index = list.result<int64_t>(results);
  const auto workspace = list.scratch(bytes);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const VectorView<int64_t> to = {o[index], results};
    const MatrixView<const T> from = matrix<const T>(o[x], rows, cols);
    const Workspace scratch = {o[workspace], bytes};
    return of.of_rows ? argmax_rows(to, from, scratch, stream) : argmax_columns(to, from, scratch, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return check_some(
        results,
        [&](int64_t at) {
          int64_t first = -1;
          double most = 0;
          visit_values(of, rows, cols, host.after(x), at, [&](int64_t i, double value) {
            if (first < 0 || value > most) first = i, most = value;
          });
          return host.after(index)[at] == first;
        },
        kCheckedColumns);
  };
  return call;
}

OperatorCall make_reduction(const OperatorRequest& request) {
  const int64_t rows = request.shape["rows"], cols = request.shape["cols"];
  OperatorCall call = with_type(request.type, [&]<class T>() {
    for (const Reduction& of : kReductions)
      if (request.kind == of.kind) return reduction_call<T>(of, rows, cols);
    return index_call<T>(request.kind == kIndices[0].kind ? kIndices[0] : kIndices[1], rows, cols);
  });
  call.name = concat(request.kind, " of ", counted(rows, "row"), ", ", counted(cols, "column"),
                     type_suffix(request.type));
  return call;
}

OperatorCall make_reduce(const OperatorRequest& request) {
  const int64_t rows = request.shape["rows"], cols = request.shape["cols"];
  const bool bias = request.kind == "bias_gradient";
  OperatorCall call = with_type(
      request.type, [&]<class T>() { return bias ? bias_call<T>(rows, cols) : moments_call<T>(rows, cols); });
  call.name = concat(bias ? "bias gradient" : "moments", " of ", counted(rows, "row"), ", ",
                     counted(cols, "column"), type_suffix(request.type));
  return call;
}

}  // namespace

Operator reduce_operator() {
  const std::vector<Dimension> dimensions = {{"rows", "rows", 65536}, {"cols", "columns", 256}};
  Operator reduce = {
      "reduce",
      "Reductions of a matrix over its rows or columns",
      {{"bias_gradient", dimensions, {}, make_reduce}, {"moments", dimensions, {}, make_reduce}}};
  for (const Reduction& of : kReductions) reduce.kinds.push_back({of.kind, dimensions, {}, make_reduction});
  for (const Reduction& of : kIndices) reduce.kinds.push_back({of.kind, dimensions, {}, make_reduction});
  return reduce;
}

}  // namespace rondo::bench
