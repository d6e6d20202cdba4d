#include <rondo/bench/operators/operators.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/loss/binary_cross_entropy.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/loss/weighted_cross_entropy.h>

#include <algorithm>
#include <cmath>

namespace rondo::bench {
namespace {

// gradient = (softmax(logits) - one at the label) / rows
template <class T>
bool is_loss_gradient(int64_t rows, int64_t classes, const T* gradient, const T* logits,
                      const int32_t* labels) {
  return check_some(
      rows,
      [&](int64_t row) {
        const T* const of_row = logits + row * classes;
        double most = value_at(of_row, 0), sum = 0;
        for (int64_t j = 0; j < classes; ++j) most = std::max(most, value_at(of_row, j));
        for (int64_t j = 0; j < classes; ++j) sum += std::exp(value_at(of_row, j) - most);
        return check_some(classes, [&](int64_t j) {
          const double p = std::exp(value_at(of_row, j) - most) / sum, one = labels[row] == j ? 1 : 0;
          return is_close(gradient[row * classes + j], (p - one) / static_cast<double>(rows),
                          (p + one) / static_cast<double>(rows) + 1e-6);
        });
      },
      11);
}

template <class T>
OperatorCall cross_entropy_call(int64_t rows, int64_t classes, bool with_stats) {
  OperatorCall call;
  OperandList& list = call.operands;
  const auto logits = list.input<T>(saturating_product({rows, classes}));
  const auto labels = list.counts(rows, classes);
  const auto gradient = list.result<T>(saturating_product({rows, classes}));
  const auto stats = list.input_of(std::vector<LossStats>(1), Role::updated);
  const int64_t bytes = with_stats ? softmax_cross_entropy_workspace_bytes(rows, classes)
                                   : cross_entropy_workspace_bytes(rows, classes);
  const auto workspace = list.scratch(bytes);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const MatrixView<T> to = matrix(o[gradient], rows, classes);
    const MatrixView<const T> from = matrix<const T>(o[logits], rows, classes);
    const VectorView<const int32_t> of_rows = {o[labels], rows};
    const Workspace scratch = {o[workspace], bytes};
    if (with_stats)
      return softmax_cross_entropy(to, o.as<LossStats>(stats), from, of_rows, 1.0f / static_cast<float>(rows),
                                   scratch, stream);
    return cross_entropy(to, o.as<float>(stats), {}, from, of_rows, {}, scratch, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return is_loss_gradient(rows, classes, host.after(gradient), host.after(logits), host.after(labels));
  };
  return call;
}

template <class T>
OperatorCall binary_call(int64_t rows, int64_t cols) {
  OperatorCall call;
  OperandList& list = call.operands;
  const int64_t size = saturating_product({rows, cols});
  const auto logits = list.input<T>(size), targets = list.input<T>(size, Fill::uniform);
  const auto gradient = list.result<T>(size);
  const auto loss = list.result<float>(1);
  const int64_t bytes = binary_cross_entropy_workspace_bytes(rows, cols);
  const auto workspace = list.scratch(bytes);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    return binary_cross_entropy(matrix(o[gradient], rows, cols), o[loss], {},
                                matrix<const T>(o[logits], rows, cols),
                                matrix<const T>(o[targets], rows, cols), {.reduction = LossReduction::sum},
                                {o[workspace], bytes}, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return check_some(size, [&](int64_t i) {
      const double p = 1 / (1 + std::exp(-value_at(host.after(logits), i))),
                   t = value_at(host.after(targets), i);
      return is_close(host.after(gradient)[i], p - t, p + t);
    });
  };
  return call;
}

OperatorCall make_loss(const OperatorRequest& request) {
  const bool binary = request.kind == "binary";
  const int64_t rows = request.shape["rows"], classes = request.shape[binary ? "cols" : "classes"];
  OperatorCall call = with_type(request.type, [&]<class T>() {
    return binary ? binary_call<T>(rows, classes)
                  : cross_entropy_call<T>(rows, classes, request.kind == "softmax_cross_entropy");
  });
  const char* const name = binary                            ? "binary cross-entropy"
                           : request.kind == "cross_entropy" ? "cross-entropy"
                                                             : "softmax cross-entropy";
  call.name = concat(name, " of ", counted(rows, "row"), ", ",
                     binary ? counted(classes, "column") : counted(classes, "class", "classes"),
                     type_suffix(request.type));
  return call;
}

}  // namespace

Operator loss_operator() {
  const std::vector<Dimension> classes = {{"rows", "rows", 8192}, {"classes", "classes", 1000}};
  return {"loss",
          "A loss and its gradient",
          {{"softmax_cross_entropy", classes, {}, make_loss},
           {"cross_entropy", classes, {}, make_loss},
           {"binary", {{"rows", "rows", 8192}, {"cols", "columns", 1000}}, {}, make_loss}}};
}

}  // namespace rondo::bench
