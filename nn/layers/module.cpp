#include <rondo/nn/layers/module.h>

#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/text.h>

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
    return with_element_type(context.output.type, [&]<class T>(T) {
      return add(context.output.elements<T>(), context.inputs[0].elements<T>(),
                 context.inputs[1].elements<T>(), relu_, context.stream);
    });
  }
  Status backward(const OpContext& context) const override {
    for (const Tensor& dx : context.input_gradients) {
      if (!dx.data) continue;
      if (relu_)
        RONDO_RETURN_IF_ERROR(with_element_type(dx.type, [&]<class T>(T) {
          return relu_backward(dx.elements<T>(), context.output_gradient.elements<T>(),
                               context.output.elements<T>(), context.stream);
        }));
      else
        RONDO_CUDA(cudaMemcpyAsync(dx.data, context.output_gradient.data, static_cast<size_t>(dx.bytes()),
                                   cudaMemcpyDeviceToDevice, context.stream));
    }
    return {};
  }

 private:
  bool relu_ = false;
};

}  // namespace

std::vector<AnyModule> Module::parts() const { return {}; }

AnyModule Module::with_outputs(int64_t outputs) const {
  throw Error(bad_argument("module: cannot be made with ", counted(outputs, "output"),
                           ": it cannot be split by outputs"));
}

Sequential::Sequential(std::vector<AnyModule> modules) : modules_(std::move(modules)) {
  if (modules_.empty()) throw Error(bad_argument("Sequential: there are no modules, must be at least one"));
}

Value Sequential::build(Graph& graph, Value x) const {
  for (size_t i = 0; i < modules_.size(); ++i) {
    const Graph::Scope scope(graph, exact_text(i));
    x = modules_[i].build(graph, x);
  }
  return x;
}

Value Residual::build(Graph& graph, Value x) const {
  Value y, other = x;
  graph.keep(x);  // for the shortcut
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
  if (options_.relu) op->fuse_relu();
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

std::string math_suffix(Math math) { return math == Math::fp32 ? "" : concat(", ", name_of(math)); }

Graph make_graph(const AnyModule& network, Shape input, Math math, DType activations) {
  Graph graph(input, math, activations);
  const auto cast = [&](const char* name, Value value, DType type) {
    const Graph::Scope scope(graph, name);
    return graph.cast(value, type);
  };
  const Value output = network.build(graph, cast("input", graph.input(), activations));
  graph.set_output(cast("output", output, DType::float32));
  return graph;
}

}  // namespace rondo::nn
