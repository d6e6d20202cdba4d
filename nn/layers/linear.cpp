#include <rondo/nn/layers/linear.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/gemm/workspace_bound.h>
#include <rondo/nn/layers/product_op.h>

#include <algorithm>

namespace rondo::nn {

namespace {

class LinearOp final : public ProductOp<LinearOp> {
 public:
  LinearOp(int64_t inputs, int64_t outputs, bool bias, Math math, DType type)
      : ProductOp(bias, math, type), inputs_(inputs), outputs_(outputs) {}

  std::string description() const override {
    return concat("linear ", outputs_, relu_ ? ", ReLU" : "", math_suffix(math_));
  }
  double flops() const override { return 2.0 * static_cast<double>(inputs_) * static_cast<double>(outputs_); }
  int64_t workspace_bytes(int64_t batch) const override {
    return largest_workspace(batch, gemm_workspace_bytes);
  }
  int64_t workspace_bound(int64_t batch) const override {
    return largest_workspace(batch, gemm_workspace_bound);
  }

  template <class T>
  Status product(const OpContext& context) const {
    return gemm(
        context.output.samples<T>(), context.inputs[0].samples<T>(), weight<T>(context),
        {.bias = bias(context), .activation = relu_ ? Activation::relu : Activation::none, .math = math_},
        context.workspace, context.stream);
  }
  template <class T>
  Status parameter_gradients(const OpContext& context) const {
    RONDO_RETURN_IF_ERROR(gemm(matrix(context.parameter_gradients[0], inputs_, outputs_),
                               context.inputs[0].samples<T>(),
                               MatrixView<const T>(context.output_gradient.samples<T>()),
                               {.transpose_a = true, .math = math_}, context.workspace, context.stream));
    return sum_bias_gradient<T>(context);
  }
  template <class T>
  Status input_gradient(const OpContext& context) const {
    return gemm(context.input_gradients[0].samples<T>(),
                MatrixView<const T>(context.output_gradient.samples<T>()), weight<T>(context),
                {.transpose_b = true, .math = math_}, context.workspace, context.stream);
  }

 private:
  template <class OfGemm>
  int64_t largest_workspace(int64_t batch, const OfGemm& of_gemm) const {
    return std::max({of_gemm({batch, outputs_, inputs_}, {.math = math_}, type_),
                     of_gemm({inputs_, outputs_, batch}, {.transpose_a = true, .math = math_}, type_),
                     of_gemm({batch, inputs_, outputs_}, {.transpose_b = true, .math = math_}, type_),
                     bias_gradient_workspace_bytes(batch, outputs_)});
  }
  template <class T>
  MatrixView<const T> weight(const OpContext& context) const {
    return matrix(context.weight<T>(0), inputs_, outputs_);
  }

  int64_t inputs_, outputs_;
};

}  // namespace

Value Linear::build(Graph& graph, Value x) const {
  if (outputs_ < 1)
    throw Error(bad_argument("Linear: it has ", counted(outputs_, "output"), ", must have at least 1"));
  const int64_t inputs = x.shape.size();
  checked_product("Linear: the weight", {inputs, outputs_});
  const Fans fans = {inputs, outputs_};
  const std::vector<int> parameters =
      weight_and_bias(graph, {inputs, outputs_}, outputs_, options_.bias, options_.weights, fans);
  const Math math = math_of_products("Linear", options_.math, graph, x.type);
  return graph.add(std::make_unique<LinearOp>(inputs, outputs_, options_.bias, math, x.type), {x},
                   {1, 1, outputs_}, parameters);
}

}  // namespace rondo::nn
