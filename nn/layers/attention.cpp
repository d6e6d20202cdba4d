#include <rondo/nn/layers/attention.h>

#include <rondo/kernels/activation/add_bias.h>
#include <rondo/kernels/activation/gelu.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/softmax/softmax.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/product_op.h>

#include <cmath>

namespace rondo::nn {

namespace {

class PositionEmbeddingOp : public Op {
 public:
  explicit PositionEmbeddingOp(Shape shape) : shape_(shape) {}
  std::string description() const override { return "position embedding"; }
  double flops() const override { return static_cast<double>(shape_.size()); }
  int64_t workspace_bytes(int64_t batch) const override {
    return bias_gradient_workspace_bytes(batch, shape_.size());
  }
  Status forward(const OpContext& context) const override {
    return with_element_type(context.output.type, [&]<class T>(T) {
      return add_bias(context.output.samples<T>(), context.inputs[0].samples<T>(),
                      {context.parameters[0], shape_.size()}, context.stream);
    });
  }
  Status backward(const OpContext& context) const override {
    return with_element_type(context.output_gradient.type, [&]<class T>(T) -> Status {
      const MatrixView<const T> dy = context.output_gradient.samples<T>();
      RONDO_RETURN_IF_ERROR(bias_gradient({context.parameter_gradients[0], shape_.size()}, dy, 0.0f,
                                          context.workspace, context.stream));
      const Tensor& dx = context.input_gradients[0];
      if (!dx.data) return {};
      RONDO_CUDA(cudaMemcpyAsync(dx.data, context.output_gradient.data, static_cast<size_t>(dx.bytes()),
                                 cudaMemcpyDeviceToDevice, context.stream));
      return {};
    });
  }

 private:
  Shape shape_;
};

class GeluOp : public Op {
 public:
  explicit GeluOp(GELU::Form form) : tanh_(form == GELU::Form::tanh) {}
  std::string description() const override { return tanh_ ? "GELU by tanh" : "GELU"; }
  Saves saves() const override { return {.inputs = true}; }
  Status forward(const OpContext& context) const override {
    return with_element_type(context.output.type, [&]<class T>(T) {
      const auto operation = tanh_ ? gelu_tanh<T> : gelu<T>;
      return operation(context.output.elements<T>(), context.inputs[0].elements<T>(), context.stream);
    });
  }
  Status backward(const OpContext& context) const override {
    if (!context.input_gradients[0].data) return {};
    return with_element_type(context.output_gradient.type, [&]<class T>(T) {
      const auto operation = tanh_ ? gelu_tanh_backward<T> : gelu_backward<T>;
      return operation(context.input_gradients[0].elements<T>(), context.output_gradient.elements<T>(),
                       context.inputs[0].elements<T>(), context.stream);
    });
  }

 private:
  bool tanh_;
};

// From (Q, K, V) beside each other to A V, for all heads. The products of a head are batches over the
// samples.
class AttentionOp : public Op {
 public:
  AttentionOp(Shape in, int64_t heads, Math math, DType type)
      : tokens_(in.height * in.width),
        channels_(in.channels / 3),
        heads_(heads),
        width_(channels_ / heads),
        math_(math),
        type_(type) {}

  std::string description() const override {
    return concat("attention of ", counted(heads_, "head"), math_suffix(math_));
  }
  double flops() const override {
    return 4.0 * static_cast<double>(tokens_) * static_cast<double>(tokens_) * static_cast<double>(channels_);
  }
  Saves saves() const override { return {.inputs = true}; }
  int64_t saved_floats() const override {
    return (saturating_product({heads_, tokens_, tokens_, size_of(type_)}) + 3) / 4;
  }
  // The gradients of A, and the workspace of the softmax behind them.
  int64_t workspace_bytes(int64_t batch) const override {
    return gradients_bytes(batch) + softmax_workspace_bytes(batch * heads_ * tokens_, tokens_);
  }

  Status forward(const OpContext& context) const override {
    return with_element_type(type_, [&]<class T>(T) { return forward_in<T>(context); });
  }
  Status backward(const OpContext& context) const override {
    if (!context.input_gradients[0].data) return {};
    return with_element_type(type_, [&]<class T>(T) { return backward_in<T>(context); });
  }

 private:
  enum Part { kQueries, kKeys, kValues };

  float scale() const { return 1 / std::sqrt(static_cast<float>(width_)); }
  int64_t gradients_bytes(int64_t batch) const {
    const int64_t bytes = saturating_product({batch, heads_, tokens_, tokens_, size_of(type_)});
    return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  }
  Workspace behind_gradients(const OpContext& context) const {
    const int64_t bytes = gradients_bytes(context.batch);
    return {static_cast<std::byte*>(context.workspace.data) + bytes, context.workspace.bytes - bytes};
  }

  // Q, K or V of a head, or their gradients, of all samples.
  template <class T>
  MatrixBatchView<T> part(T* all, int64_t batch, Part part, int64_t head) const {
    return {all + part * channels_ + head * width_,
            batch,
            tokens_,
            width_,
            3 * channels_,
            tokens_ * 3 * channels_};
  }
  // The rows of A, or of its gradients, of a head.
  template <class T>
  MatrixBatchView<T> weights(T* all, int64_t batch, int64_t head) const {
    return {all + head * tokens_ * tokens_, batch, tokens_, tokens_, tokens_, heads_ * tokens_ * tokens_};
  }
  // Those of all heads and samples.
  template <class T>
  MatrixView<T> all_weights(T* all, int64_t batch) const {
    return matrix(all, batch * heads_ * tokens_, tokens_);
  }
  template <class T>
  MatrixBatchView<T> results(T* all, int64_t batch, int64_t head) const {
    return {all + head * width_, batch, tokens_, width_, channels_, tokens_ * channels_};
  }

  template <class T>
  Status forward_in(const OpContext& context) const {
    const int64_t batch = context.batch;
    const T* const x = context.inputs[0].as<T>();
    T* const a = reinterpret_cast<T*>(context.saved);
    for (int64_t head = 0; head < heads_; ++head)
      RONDO_RETURN_IF_ERROR(gemm_strided_batched(
          weights(a, batch, head), part(x, batch, kQueries, head), part(x, batch, kKeys, head),
          {.transpose_b = true, .alpha = scale(), .math = math_}, context.stream));
    RONDO_RETURN_IF_ERROR(softmax(all_weights(a, batch), all_weights<const T>(a, batch),
                                  behind_gradients(context), context.stream));
    for (int64_t head = 0; head < heads_; ++head)
      RONDO_RETURN_IF_ERROR(
          gemm_strided_batched(results(context.output.as<T>(), batch, head), weights<const T>(a, batch, head),
                               part(x, batch, kValues, head), {.math = math_}, context.stream));
    return {};
  }

  // With y = A V, A = softmax(S) and S = scale Q K^T: dV = A^T dy, dA = dy V^T, dQ = scale dS K,
  // dK = scale dS^T Q.
  template <class T>
  Status backward_in(const OpContext& context) const {
    const int64_t batch = context.batch;
    const T* const x = context.inputs[0].as<T>();
    const T* const a = reinterpret_cast<const T*>(context.saved);
    const T* const dy = context.output_gradient.as<T>();
    T* const dx = context.input_gradients[0].as<T>();
    T* const da = static_cast<T*>(context.workspace.data);
    const auto product = [&](MatrixBatchView<T> c, MatrixBatchView<const T> left, bool transpose_left,
                             MatrixBatchView<const T> right, bool transpose_right, float alpha) {
      return gemm_strided_batched(
          c, left, right,
          {.transpose_a = transpose_left, .transpose_b = transpose_right, .alpha = alpha, .math = math_},
          context.stream);
    };
    for (int64_t head = 0; head < heads_; ++head) {
      RONDO_RETURN_IF_ERROR(product(part(dx, batch, kValues, head), weights(a, batch, head), true,
                                    results(dy, batch, head), false, 1));
      RONDO_RETURN_IF_ERROR(product(weights(da, batch, head), results(dy, batch, head), false,
                                    part(x, batch, kValues, head), true, 1));
    }
    RONDO_RETURN_IF_ERROR(softmax_backward(all_weights(da, batch), all_weights<const T>(da, batch),
                                           all_weights(a, batch), behind_gradients(context), context.stream));
    for (int64_t head = 0; head < heads_; ++head) {
      const MatrixBatchView<const T> ds = weights(da, batch, head);
      RONDO_RETURN_IF_ERROR(
          product(part(dx, batch, kQueries, head), ds, false, part(x, batch, kKeys, head), false, scale()));
      RONDO_RETURN_IF_ERROR(
          product(part(dx, batch, kKeys, head), ds, true, part(x, batch, kQueries, head), false, scale()));
    }
    return {};
  }

  int64_t tokens_, channels_, heads_, width_;
  Math math_;
  DType type_;  // of the activations
};

}  // namespace

Value PositionEmbedding::build(Graph& graph, Value x) const {
  constexpr int64_t kMost = int64_t{1} << 20;  // bias_gradient() takes twice as many columns
  if (x.shape.size() > kMost)
    throw Error(bad_argument("PositionEmbedding: the input is ", text(x.shape), ", must have at most ", kMost,
                             " elements"));
  const int weight =
      graph.parameter("weight", {x.shape.height, x.shape.width, x.shape.channels}, Init::normal(0.02f));
  graph.set_torch_shape(weight, {1, x.shape.height * x.shape.width, x.shape.channels});
  return graph.add(std::make_unique<PositionEmbeddingOp>(x.shape), {x}, x.shape, {weight});
}

Value GELU::build(Graph& graph, Value x) const {
  return graph.add(std::make_unique<GeluOp>(form_), {x}, x.shape);
}

Value PositionwiseLinear::build(Graph& graph, Value x) const {
  const Value y =
      Conv2d(outputs_, 1, {.bias = options_.bias, .weights = options_.weights, .math = options_.math})
          .build(graph, x);
  graph.set_torch_shape(graph.nodes().back().parameters[0], {outputs_, x.shape.channels});
  return y;
}

Value MultiHeadAttention::build(Graph& graph, Value x) const {
  const int64_t channels = x.shape.channels;
  if (heads_ < 1 || channels % heads_ != 0)
    throw Error(bad_argument("MultiHeadAttention: the input has ", counted(channels, "channel"),
                             ", which must be a multiple of the heads, which are ", heads_));
  const Math math = math_of_products("MultiHeadAttention", options_.math, graph, x.type);
  const auto projection = [&](const char* name, int64_t outputs, Value of) {
    const Graph::Scope scope(graph, name);
    return PositionwiseLinear(outputs, options_).build(graph, of);
  };
  const Value qkv = projection("in_proj", 3 * channels, x);
  // torch.nn.MultiheadAttention has no module in_proj.
  const std::vector<int>& of_qkv = graph.nodes().back().parameters;
  graph.set_torch_name(of_qkv[0], "in_proj_weight");
  if (options_.bias) graph.set_torch_name(of_qkv[1], "in_proj_bias");
  const Value y = graph.add(std::make_unique<AttentionOp>(qkv.shape, heads_, math, x.type), {qkv}, x.shape);
  return projection("out_proj", channels, y);
}

}  // namespace rondo::nn
