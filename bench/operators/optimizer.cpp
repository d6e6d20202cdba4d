#include <rondo/bench/operators/operators.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/optimizer/adam.h>
#include <rondo/kernels/optimizer/sgd.h>

#include <cmath>
#include <type_traits>

namespace rondo::bench {
namespace {

constexpr float kRate = 1e-3f, kMomentum = 0.9f;

// T: of the gradient, and of the rounded copy of the parameters, which float32 does not have.
template <class T>
OperatorCall sgd_call(int64_t size) {
  OperatorCall call;
  OperandList& list = call.operands;
  constexpr bool kIsNarrow = sizeof(T) == 2;
  const auto parameters = list.add<float>(size, Role::updated, Fill::normal),
             velocity = list.add<float>(size, Role::updated, Fill::normal);
  const auto gradient = list.input<T>(size);
  const auto rounded = list.result<T>(kIsNarrow ? size : 0);
  const auto rate = list.input_of(std::vector<float>{kRate});
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const SgdOptions options = {.momentum = kMomentum};
    const VectorView<float> p = {o[parameters], size}, v = {o[velocity], size};
    if constexpr (kIsNarrow)
      return sgd_update(p, VectorView<T>{o[rounded], size}, v, VectorView<const T>{o[gradient], size},
                        o.as<float>(rate), options, stream);
    else
      return sgd_update(p, v, {o[gradient], size}, o.as<float>(rate), options, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return check_some(size, [&](int64_t i) {
      const double before = host.before(parameters)[i],
                   v = double{kMomentum} * host.before(velocity)[i] +
                       static_cast<float>(host.after(gradient)[i]),
                   expected = before - double{kRate} * v;
      return is_close(host.after(velocity)[i], v, 1 + std::abs(v)) &&
             is_close(host.after(parameters)[i], expected, 1e-3 + std::abs(before)) &&
             (!kIsNarrow || is_close(host.after(rounded)[i], expected, 1e-3 + std::abs(before)));
    });
  };
  return call;
}

template <class T>
OperatorCall adam_call(int64_t size) {
  OperatorCall call;
  OperandList& list = call.operands;
  constexpr bool kIsNarrow = sizeof(T) == 2;
  const AdamOptions options;
  const auto parameters = list.add<float>(size, Role::updated, Fill::normal),
             first = list.add<float>(size, Role::updated, Fill::normal),
             second = list.add<float>(size, Role::updated, Fill::uniform);
  const auto gradient = list.input<T>(size);
  const auto rounded = list.result<T>(kIsNarrow ? size : 0);
  const AdamState tenth = {10, 1 - std::pow(options.beta1, 10.0f), 1 - std::pow(options.beta2, 10.0f), kRate};
  const auto state = list.input_of(std::vector<AdamState>{tenth});
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const VectorView<float> p = {o[parameters], size}, m = {o[first], size}, v = {o[second], size};
    if constexpr (kIsNarrow)
      return adam_update(p, VectorView<T>{o[rounded], size}, m, v, VectorView<const T>{o[gradient], size},
                         o.as<AdamState>(state), options, stream);
    else
      return adam_update(p, m, v, {o[gradient], size}, o.as<AdamState>(state), options, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return check_some(size, [&](int64_t i) {
      const double g = static_cast<float>(host.after(gradient)[i]), before = host.before(parameters)[i],
                   m = options.beta1 * double{host.before(first)[i]} + (1 - double{options.beta1}) * g,
                   v = options.beta2 * double{host.before(second)[i]} + (1 - double{options.beta2}) * g * g;
      const double step = kRate * (m / tenth.correction1) / (std::sqrt(v / tenth.correction2) + options.eps);
      return is_close(host.after(first)[i], m, 1 + std::abs(m)) &&
             is_close(host.after(second)[i], v, 1 + v) &&
             is_close(host.after(parameters)[i], before - step, 1e-3 + std::abs(before) + std::abs(step)) &&
             (!kIsNarrow ||
              is_close(host.after(rounded)[i], before - step, 1e-3 + std::abs(before) + std::abs(step)));
    });
  };
  return call;
}

OperatorCall make_optimizer(const OperatorRequest& request) {
  const int64_t size = request.shape["size"];
  OperatorCall call = with_type(request.type, [&]<class T>() {
    return request.kind == "adam" ? adam_call<T>(size) : sgd_call<T>(size);
  });
  call.name = concat(request.kind, " of ", counted(size, "parameter"),
                     request.type == DType::float32 ? "" : concat(", gradients in ", name_of(request.type)));
  return call;
}

}  // namespace

Operator optimizer_operator() {
  const std::vector<Dimension> dimensions = {{"size", "parameters", 1 << 24}};
  return {"optimizer",
          "The update of an optimizer: SGD with momentum, or Adam",
          {{"sgd", dimensions, {}, make_optimizer}, {"adam", dimensions, {}, make_optimizer}}};
}

}  // namespace rondo::bench
