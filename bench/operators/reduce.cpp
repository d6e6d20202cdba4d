#include <rondo/bench/operators/operators.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/reduce/moments.h>

#include <cmath>

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
  return {"reduce",
          "Sums over the rows of a matrix: the gradient of a bias, or sums of values and squares",
          {{"bias_gradient", dimensions, {}, make_reduce}, {"moments", dimensions, {}, make_reduce}}};
}

}  // namespace rondo::bench
