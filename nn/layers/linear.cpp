#include <rondo/nn/layers/linear.h>

#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/gemm/workspace_bound.h>
#include <rondo/kernels/reduce/bias_gradient.h>

#include <algorithm>

namespace rondo::nn {

namespace {

class LinearOp : public Op {
 public:
  LinearOp(int64_t inputs, int64_t outputs, bool bias, Math math, DType type)
      : inputs_(inputs), outputs_(outputs), bias_(bias), math_(math), type_(type) {}

  std::string description() const override {
    return concat("linear ", outputs_, relu_ ? ", ReLU" : "", math_suffix(math_));
  }
  double flops() const override { return 2.0 * static_cast<double>(inputs_) * static_cast<double>(outputs_); }
  Saves saves() const override { return {.inputs = true, .output = relu_}; }
  bool fuse_relu() override { return relu_ = true; }

  int64_t workspace_bytes(int64_t batch) const override {
    return largest_workspace(batch, [this](const GemmShape& shape, const GemmOptions& options) {
      return gemm_workspace_bytes(shape, options, type_);
    });
  }
  int64_t workspace_bound(int64_t batch) const override {
    return largest_workspace(batch, [this](const GemmShape& shape, const GemmOptions& options) {
      return gemm_workspace_bound(shape, options, type_);
    });
  }

  Status forward(const OpContext& context) const override {
    return with_element_type(type_, [&]<class T>(T) { return forward_in<T>(context); });
  }
  Status backward(const OpContext& context) const override {
    return with_element_type(type_, [&]<class T>(T) { return backward_in<T>(context); });
  }

 private:
  template <class OfGemm>
  int64_t largest_workspace(int64_t batch, const OfGemm& of_gemm) const {
    return std::max({of_gemm({batch, outputs_, inputs_}, {.math = math_}),
                     of_gemm({inputs_, outputs_, batch}, {.transpose_a = true, .math = math_}),
                     of_gemm({batch, inputs_, outputs_}, {.transpose_b = true, .math = math_}),
                     bias_gradient_workspace_bytes(batch, outputs_)});
  }

  template <class T>
  Status forward_in(const OpContext& context) const {
    GemmOptions options{.relu = relu_, .math = math_};
    if (bias_) options.bias = {context.parameters[1], outputs_};
    return gemm(context.output.samples<T>(), context.inputs[0].samples<T>(),
                matrix(context.weight<T>(0), inputs_, outputs_), options, context.workspace, context.stream);
  }

  // The ReLU's gradient is computed in place: output_gradient is not needed afterwards.
  template <class T>
  Status backward_in(const OpContext& context) const {
    const VectorView<T> elements = context.output_gradient.elements<T>();
    const MatrixView<const T> dy = context.output_gradient.samples<T>();
    if (relu_)
      RONDO_RETURN_IF_ERROR(relu_backward(elements, elements, context.output.elements<T>(), context.stream));
    RONDO_RETURN_IF_ERROR(gemm(matrix(context.parameter_gradients[0], inputs_, outputs_),
                               context.inputs[0].samples<T>(), dy, {.transpose_a = true, .math = math_},
                               context.workspace, context.stream));
    if (bias_)
      RONDO_RETURN_IF_ERROR(bias_gradient({context.parameter_gradients[1], outputs_}, dy, 0.0f,
                                          context.workspace, context.stream));
    if (!context.input_gradients[0].data) return {};
    return gemm(context.input_gradients[0].samples<T>(), dy, matrix(context.weight<T>(0), inputs_, outputs_),
                {.transpose_b = true, .math = math_}, context.workspace, context.stream);
  }

  int64_t inputs_, outputs_;
  bool bias_, relu_ = false;
  Math math_;
  DType type_;  // of the activations
};

}  // namespace

Value Linear::build(Graph& graph, Value x) const {
  if (outputs_ < 1)
    throw Error(bad_argument("Linear: it has ", counted(outputs_, "output"), ", must have at least 1"));
  const int64_t inputs = x.shape.size();
  checked_product("Linear: the weight", {inputs, outputs_});
  const Fans fans = {inputs, outputs_};
  std::vector<int> parameters = {
      graph.parameter("weight", {inputs, outputs_}, options_.weights.weights(fans))};
  if (options_.bias) parameters.push_back(graph.parameter("bias", {outputs_}, options_.weights.biases(fans)));
  const Math math = options_.math.value_or(graph.math());
  if (x.type != DType::float32 && math != Math::fp32)
    throw Error(bad_argument("Linear: the math is ", name_of(math), ", must be fp32 with activations of ",
                             name_of(x.type)));
  return graph.add(std::make_unique<LinearOp>(inputs, outputs_, options_.bias, math, x.type), {x},
                   {1, 1, outputs_}, parameters);
}

}  // namespace rondo::nn
