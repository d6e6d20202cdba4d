#include <rondo/nn/layers/softmax.h>

#include <rondo/kernels/softmax/softmax.h>

namespace rondo::nn {

namespace {

class SoftmaxOp : public Op {
 public:
  SoftmaxOp(Shape shape, bool log) : shape_(shape), log_(log) {}

  std::string description() const override { return log_ ? "log softmax" : "softmax"; }
  // The difference from the largest value, the sum, and the division or the second difference.
  double flops() const override { return 3.0 * static_cast<double>(shape_.size()); }
  Saves saves() const override { return {.output = true}; }
  int64_t workspace_bytes(int64_t batch) const override {
    return softmax_workspace_bytes(batch * shape_.height * shape_.width, shape_.channels);
  }
  Status forward(const OpContext& context) const override {
    return with_element_type(context.output.type, [&]<class T>(T) {
      const auto operation = log_ ? log_softmax<T> : softmax<T>;
      return operation(context.output.pixels<T>(), context.inputs[0].pixels<T>(), context.workspace,
                       context.stream);
    });
  }
  Status backward(const OpContext& context) const override {
    if (!context.input_gradients[0].data) return {};
    return with_element_type(context.output_gradient.type, [&]<class T>(T) {
      const auto operation = log_ ? log_softmax_backward<T> : softmax_backward<T>;
      return operation(context.input_gradients[0].pixels<T>(), context.output_gradient.pixels<T>(),
                       context.output.pixels<T>(), context.workspace, context.stream);
    });
  }

 private:
  Shape shape_;
  bool log_;
};

}  // namespace

Value Softmax::build(Graph& graph, Value x) const {
  return graph.add(std::make_unique<SoftmaxOp>(x.shape, false), {x}, x.shape);
}

Value LogSoftmax::build(Graph& graph, Value x) const {
  return graph.add(std::make_unique<SoftmaxOp>(x.shape, true), {x}, x.shape);
}

}  // namespace rondo::nn
