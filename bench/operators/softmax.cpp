#include <rondo/kernels/softmax/softmax.h>

#include <rondo/bench/operators/operators.h>
#include <rondo/kernels/core/counted.h>

#include <algorithm>
#include <cmath>

namespace rondo::bench {
namespace {

constexpr int64_t kSoftmaxRows = 11;

template <class T>
OperatorCall softmax_forward(int64_t rows, int64_t cols, bool log) {
  OperatorCall call;
  OperandList& list = call.operands;
  const int64_t size = saturating_product({rows, cols}), bytes = softmax_workspace_bytes(rows, cols);
  const auto x = list.input<T>(size);
  const auto y = list.result<T>(size);
  const auto workspace = list.scratch(bytes);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const MatrixView<T> to = matrix(o[y], rows, cols), from = matrix(o[x], rows, cols);
    const Workspace scratch = {o[workspace], bytes};
    return log ? log_softmax(to, from, scratch, stream) : softmax(to, from, scratch, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return check_some(
        rows,
        [&](int64_t row) {
          const T *const from = host.after(x) + row * cols, *const to = host.after(y) + row * cols;
          double most = value_at(from, 0), sum = 0;
          for (int64_t j = 0; j < cols; ++j) most = std::max(most, value_at(from, j));
          for (int64_t j = 0; j < cols; ++j) sum += std::exp(value_at(from, j) - most);
          return check_some(cols, [&](int64_t j) {
            const double exponent = value_at(from, j) - most - std::log(sum);
            return log ? is_close(to[j], exponent, 1 + std::abs(exponent))
                       : is_close(to[j], std::exp(exponent), std::exp(exponent) + 1e-6);
          });
        },
        kSoftmaxRows);
  };
  return call;
}

template <class T>
OperatorCall softmax_gradient(int64_t rows, int64_t cols, bool log) {
  OperatorCall call;
  OperandList& list = call.operands;
  const int64_t size = saturating_product({rows, cols}), bytes = softmax_workspace_bytes(rows, cols);
  const auto dy = list.input<T>(size), y = list.input<T>(size);
  const auto dx = list.result<T>(size);
  const auto workspace = list.scratch(bytes);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const MatrixView<T> to = matrix(o[dx], rows, cols);
    const MatrixView<const T> gradient = matrix<const T>(o[dy], rows, cols),
                              of = matrix<const T>(o[y], rows, cols);
    const Workspace scratch = {o[workspace], bytes};
    return log ? log_softmax_backward(to, gradient, of, scratch, stream)
               : softmax_backward(to, gradient, of, scratch, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return check_some(
        rows,
        [&](int64_t row) {
          const T *const gradient = host.after(dy) + row * cols, *const of = host.after(y) + row * cols;
          double sum = 0, magnitude = 0;
          for (int64_t j = 0; j < cols; ++j) {
            const double term = value_at(gradient, j) * (log ? 1 : value_at(of, j));
            sum += term, magnitude += std::abs(term);
          }
          return check_some(cols, [&](int64_t j) {
            const double factor = log ? std::exp(value_at(of, j)) : value_at(of, j),
                         d = value_at(gradient, j);
            const double expected = log ? d - factor * sum : factor * (d - sum);
            return is_close(host.after(dx)[row * cols + j], expected,
                            std::abs(log ? d : factor * d) + std::abs(factor) * magnitude);
          });
        },
        kSoftmaxRows);
  };
  return call;
}

OperatorCall make_softmax(const OperatorRequest& request) {
  const int64_t rows = request.shape["rows"], cols = request.shape["cols"];
  const bool log = request.kind == "log_softmax";
  OperatorCall call = with_type(request.type, [&]<class T>() {
    return request.pass == "backward" ? softmax_gradient<T>(rows, cols, log)
                                      : softmax_forward<T>(rows, cols, log);
  });
  call.name = concat(request.kind, " of ", counted(rows, "row"), ", ", counted(cols, "column"),
                     type_suffix(request.type));
  return call;
}

}  // namespace

Operator softmax_operator() {
  const std::vector<Dimension> dimensions = {{"rows", "rows", 8192}, {"cols", "columns", 1024}};
  const std::vector<std::string> passes = {"forward", "backward"};
  return {"softmax",
          "Softmax or its logarithm over rows, and the gradient",
          {{"softmax", dimensions, passes, make_softmax}, {"log_softmax", dimensions, passes, make_softmax}}};
}

}  // namespace rondo::bench
