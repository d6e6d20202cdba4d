// ProductOp: what the operations of convolutions and of a linear layer have in common: a weight, an optional
// bias that is added to each output channel, and a ReLU that may be fused.
#pragma once

#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/nn/layers/init.h>
#include <rondo/nn/layers/module.h>

#include <optional>
#include <vector>

namespace rondo::nn {

// Layer: the derived class. For the element type T of the activations it has product<T>(context), which
// computes the output; parameter_gradients<T>(context); and input_gradient<T>(context).
template <class Layer>
class ProductOp : public Op {
 public:
  ProductOp(bool has_bias, Math math, DType type) : has_bias_(has_bias), math_(math), type_(type) {}
  Saves saves() const override { return {.inputs = true, .output = relu_}; }
  bool fuse_relu() override { return relu_ = true; }
  Status forward(const OpContext& context) const override {
    return with_element_type(type_, [&]<class T>(T) { return layer().template product<T>(context); });
  }
  Status backward(const OpContext& context) const override {
    return with_element_type(type_, [&]<class T>(T) { return backward_in<T>(context); });
  }

 protected:
  // Empty without a bias.
  VectorView<const float> bias(const OpContext& context) const {
    if (!has_bias_) return {};
    return {context.parameters[1], context.output.shape.channels};
  }

  // Empty without a bias.
  VectorView<float> bias_gradient_view(const OpContext& context) const {
    if (!has_bias_) return {};
    return {context.parameter_gradients[1], context.output_gradient.shape.channels};
  }
  // The sum of the output's gradient over all pixels, if there is a bias.
  template <class T>
  Status sum_bias_gradient(const OpContext& context) const {
    if (!has_bias_) return {};
    return bias_gradient(bias_gradient_view(context),
                         MatrixView<const T>(context.output_gradient.pixels<T>()), 0.0f, context.workspace,
                         context.stream);
  }

  bool has_bias_, relu_ = false;
  Math math_;
  DType type_;  // of the activations

 private:
  const Layer& layer() const { return static_cast<const Layer&>(*this); }

  // The ReLU's gradient is computed in place: output_gradient is not needed afterwards.
  template <class T>
  Status backward_in(const OpContext& context) const {
    const VectorView<T> dy = context.output_gradient.elements<T>();
    if (relu_) RONDO_RETURN_IF_ERROR(relu_backward(dy, dy, context.output.elements<T>(), context.stream));
    RONDO_RETURN_IF_ERROR(layer().template parameter_gradients<T>(context));
    if (!context.input_gradients[0].data) return {};
    return layer().template input_gradient<T>(context);
  }
};

// The layer's own math, or that of the graph. Throws a bad_argument Error that begins with `layer` if it does
// not suit activations of this type.
inline Math math_of_products(const char* layer, std::optional<Math> own, const Graph& graph, DType type) {
  const Math math = own.value_or(graph.math());
  if (type != DType::float32 && math != Math::fp32)
    throw Error(bad_argument(layer, ": the math is ", name_of(math), ", must be fp32 with activations of ",
                             name_of(type)));
  return math;
}

// Declares "weight", of this shape, and, if wanted, "bias", with one value per output.
inline std::vector<int> weight_and_bias(Graph& graph, const std::vector<int64_t>& shape, int64_t outputs,
                                        bool bias, const WeightInit& init, Fans fans) {
  std::vector<int> parameters = {graph.parameter("weight", shape, init.weights(fans))};
  if (bias) parameters.push_back(graph.parameter("bias", {outputs}, init.biases(fans)));
  return parameters;
}

}  // namespace rondo::nn
