#include <rondo/bench/operators/operators.h>
#include <rondo/kernels/activation/gelu.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/activation/sigmoid.h>
#include <rondo/kernels/core/counted.h>

#include <cmath>
#include <numbers>

namespace rondo::bench {
namespace {

// The value, and the derivative in terms of what the gradient reads: y of ReLU and sigmoid, x of GELU.
struct Function {
  double (*value)(double x);
  double (*derivative)(double saved);
};

double gelu_value(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }
double gelu_derivative(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2) +
         x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}
double tanh_argument(double x) { return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x); }
double gelu_tanh_value(double x) { return 0.5 * x * (1 + std::tanh(tanh_argument(x))); }
double gelu_tanh_derivative(double x) {
  const double t = std::tanh(tanh_argument(x));
  const double slope = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
}

Function function_of(const std::string& kind) {
  if (kind == "gelu") return {gelu_value, gelu_derivative};
  if (kind == "gelu_tanh") return {gelu_tanh_value, gelu_tanh_derivative};
  if (kind == "sigmoid")
    return {[](double x) { return 1 / (1 + std::exp(-x)); }, [](double y) { return y * (1 - y); }};
  return {[](double x) { return x > 0 ? x : 0; }, [](double y) { return y > 0 ? 1.0 : 0.0; }};
}

template <class T>
using Forward = Status (*)(VectorView<T>, VectorView<const T>, cudaStream_t);
template <class T>
using Backward = Status (*)(VectorView<T>, VectorView<const T>, VectorView<const T>, cudaStream_t);

template <class T>
OperatorCall activation_call(const std::string& kind, bool is_forward, int64_t size) {
  const Forward<T> forward = kind == "gelu"        ? gelu<T>
                             : kind == "gelu_tanh" ? gelu_tanh<T>
                             : kind == "sigmoid"   ? sigmoid<T>
                                                   : relu<T>;
  const Backward<T> backward = kind == "gelu"        ? gelu_backward<T>
                               : kind == "gelu_tanh" ? gelu_tanh_backward<T>
                               : kind == "sigmoid"   ? sigmoid_backward<T>
                                                     : relu_backward<T>;
  const Function function = function_of(kind);
  OperatorCall call;
  const auto x = call.operands.input<T>(size), dy = call.operands.input<T>(is_forward ? 0 : size);
  const auto y = call.operands.result<T>(size);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    return is_forward ? forward({o[y], size}, {o[x], size}, stream)
                      : backward({o[y], size}, {o[dy], size}, {o[x], size}, stream);
  };
  call.is_right = [=](const HostOperands& host) {
    return check_some(size, [&](int64_t i) {
      const double from = static_cast<float>(host.after(x)[i]);
      if (is_forward) {
        const double expected = function.value(from);
        return is_close(host.after(y)[i], expected, std::abs(expected) + 1e-3);
      }
      const double gradient = static_cast<float>(host.after(dy)[i]);
      const double expected = gradient * function.derivative(from);
      return is_close(host.after(y)[i], expected, std::abs(expected) + 1e-3 * (1 + std::abs(gradient)));
    });
  };
  return call;
}

OperatorCall make_activation(const OperatorRequest& request) {
  const int64_t size = request.shape["size"];
  OperatorCall call = with_type(request.type, [&]<class T>() {
    return activation_call<T>(request.kind, request.pass == "forward", size);
  });
  call.name = concat(request.kind, " of ", counted(size, "element"), type_suffix(request.type));
  return call;
}

}  // namespace

Operator activation_operator() {
  const std::vector<Dimension> dimensions = {{"size", "elements", 1 << 24}};
  const std::vector<std::string> passes = {"forward", "backward"};
  Operator activation = {"activation", "An activation function, and its gradient", {}};
  for (const char* const kind : {"relu", "gelu", "gelu_tanh", "sigmoid"})
    activation.kinds.push_back({kind, dimensions, passes, make_activation});
  return activation;
}

}  // namespace rondo::bench
