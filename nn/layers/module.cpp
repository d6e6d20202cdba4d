#include <rondo/nn/layers/module.h>

#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/activation/relu.h>

#include <string>

namespace rondo::nn {

namespace {

// Adds the two paths of a residual block.
class AddOp : public Op {
 public:
  std::string description() const override { return relu_ ? "add, ReLU" : "add"; }
  Saves saves() const override { return {.output = relu_}; }
  bool fuse_relu() override { return relu_ = true; }
  Status forward(const OpContext& context) const override {
    return add(context.output.elements(), context.inputs[0].elements(), context.inputs[1].elements(), relu_,
               context.stream);
  }
  Status backward(const OpContext& context) const override {
    for (const Tensor& dx : context.input_gradients) {
      if (!dx.data) continue;
      if (relu_)
        RONDO_RETURN_IF_ERROR(relu_backward(dx.elements(), context.output_gradient.elements(),
                                            context.output.elements(), context.stream));
      else
        RONDO_CUDA(cudaMemcpyAsync(dx.data, context.output_gradient.data,
                                   static_cast<size_t>(dx.size()) * sizeof(float), cudaMemcpyDeviceToDevice,
                                   context.stream));
    }
    return {};
  }

 private:
  bool relu_ = false;
};

}  // namespace

std::vector<AnyModule> Module::parts() const { return {}; }

AnyModule Module::with_outputs(int64_t outputs) const {
  throw Error(
      bad_argument("module: cannot be made with ", outputs, " outputs: it cannot be split by outputs"));
}

Value Sequential::build(Graph& graph, Value x) const {
  for (size_t i = 0; i < modules_.size(); ++i) {
    const Graph::Scope scope(graph, std::to_string(i));
    x = modules_[i].build(graph, x);
  }
  return x;
}

Value Residual::build(Graph& graph, Value x) const {
  Value y, other = x;
  {
    const Graph::Scope scope(graph, "body");
    y = body_.build(graph, x);
  }
  if (!shortcut_.empty()) {
    const Graph::Scope scope(graph, "shortcut");
    other = shortcut_[0].build(graph, x);
  }
  if (!(y.shape == other.shape))
    throw Error(bad_argument("Residual: the output of the body is ", text(y.shape),
                             ", that of the shortcut is ", text(other.shape), ", must be the same"));
  auto op = std::make_unique<AddOp>();
  op->fuse_relu();
  return graph.add(std::move(op), {y, other}, y.shape);
}

std::vector<AnyModule> chain_of(const AnyModule& network) {
  const std::vector<AnyModule> parts = network->parts();
  if (parts.empty()) return {network};
  std::vector<AnyModule> chain;
  for (const AnyModule& part : parts)
    for (const AnyModule& module : chain_of(part)) chain.push_back(module);
  return chain;
}

Graph make_graph(const AnyModule& network, Shape input) {
  Graph graph(input);
  graph.set_output(network.build(graph, graph.input()));
  return graph;
}

}  // namespace rondo::nn
