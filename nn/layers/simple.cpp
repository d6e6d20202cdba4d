#include <rondo/nn/layers/simple.h>

#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/random/dropout.h>

#include <algorithm>
#include <limits>

namespace rondo::nn {

namespace {

class ReluOp : public Op {
 public:
  std::string description() const override { return "ReLU"; }
  Saves saves() const override { return {.output = true}; }
  Status forward(const OpContext& context) const override {
    return with_element_type(context.output.type, [&]<class T>(T) {
      return relu(context.output.elements<T>(), context.inputs[0].elements<T>(), context.stream);
    });
  }
  Status backward(const OpContext& context) const override {
    if (!context.input_gradients[0].data) return {};
    return with_element_type(context.output.type, [&]<class T>(T) {
      return relu_backward(context.input_gradients[0].elements<T>(), context.output_gradient.elements<T>(),
                           context.output.elements<T>(), context.stream);
    });
  }
};

class PoolOp : public Op {
 public:
  PoolOp(Pool kind, Shape out, PoolWindow window) : kind_(kind), out_(out), window_(window) {}
  std::string description() const override {
    return concat(kind_ == Pool::average ? "average" : "maximum", " of ", window_.height, "x", window_.width);
  }
  double flops() const override {
    return static_cast<double>(out_.size()) * static_cast<double>(window_.height * window_.width);
  }
  // The backward of max pooling finds the maximum again by comparison.
  Saves saves() const override {
    return {.inputs = kind_ == Pool::maximum, .output = kind_ == Pool::maximum};
  }

  Status forward(const OpContext& context) const override {
    return with_element_type(context.output.type, [&]<class T>(T) {
      const ImageView<T> y = context.output.image<T>();
      const ImageView<const T> x = context.inputs[0].image<T>();
      return kind_ == Pool::maximum ? max_pool(y, x, window_, context.stream)
                                    : avg_pool(y, x, window_, AverageOver::window, context.stream);
    });
  }
  Status backward(const OpContext& context) const override {
    if (!context.input_gradients[0].data) return {};
    return with_element_type(context.output.type, [&]<class T>(T) {
      const ImageView<T> dx = context.input_gradients[0].image<T>();
      const ImageView<const T> dy = context.output_gradient.image<T>();
      return kind_ == Pool::maximum ? max_pool_backward(dx, dy, context.output.image<T>(),
                                                        context.inputs[0].image<T>(), window_, context.stream)
                                    : avg_pool_backward(dx, dy, window_, AverageOver::window, context.stream);
    });
  }

 private:
  Pool kind_;
  Shape out_;
  PoolWindow window_;
};

Value build_pool(Pool kind, const char* name, Size2d window, const PoolOptions& options, Graph& graph,
                 Value x) {
  const Size2d stride = {options.stride.height > 0 ? options.stride.height : window.height,
                         options.stride.width > 0 ? options.stride.width : window.width};
  const Size2d end = options.padding_end.value_or(options.padding);
  const PoolWindow pool = {window.height,          window.width,          stride.height, stride.width,
                           options.padding.height, options.padding.width, end.height,    end.width,
                           options.ceil_mode};
  const auto outside = [](int64_t pad, int64_t side) { return pad < 0 || pad >= side; };
  if (window.height < 1 || window.width < 1 || options.stride.height < 0 || options.stride.width < 0 ||
      outside(pool.pad_h, window.height) || outside(end.height, window.height) ||
      outside(pool.pad_w, window.width) || outside(end.width, window.width))
    throw Error(bad_argument(name, ": the window is ", window.height, " x ", window.width, ", the stride ",
                             options.stride.height, " x ", options.stride.width, " and the padding ",
                             pool.pad_h, " x ", pool.pad_w, ", at the end ", end.height, " x ", end.width,
                             ": the window must be at least 1, the padding less than it"));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t most = std::max({window.height, window.width, stride.height, stride.width});
  if (most > kMost)
    throw Error(
        bad_argument(name, ": a side of the window or the stride is ", most, ", must be at most ", kMost));
  const Shape out = {pooled_height(x.shape.height, pool), pooled_width(x.shape.width, pool),
                     x.shape.channels};
  if (out.height < 1 || out.width < 1)
    throw Error(bad_argument(name, ": the window of ", window.height, " x ", window.width,
                             " does not fit the input of ", text(x.shape)));
  return graph.add(std::make_unique<PoolOp>(kind, out, pool), {x}, out);
}

class DropoutOp : public Op {
 public:
  DropoutOp(float probability, uint32_t layer) : probability_(probability), layer_(layer) {}
  std::string description() const override { return concat("dropout ", probability_); }

  Status forward(const OpContext& context) const override {
    if (context.training)
      return with_element_type(context.output.type, [&]<class T>(T) {
        return dropout(context.output.elements<T>(), context.inputs[0].elements<T>(), probability_,
                       stream(context), context.stream);
      });
    RONDO_CUDA(cudaMemcpyAsync(context.output.data, context.inputs[0].data,
                               static_cast<size_t>(context.output.bytes()), cudaMemcpyDeviceToDevice,
                               context.stream));
    return {};
  }
  Status backward(const OpContext& context) const override {
    if (!context.input_gradients[0].data) return {};
    return with_element_type(context.output.type, [&]<class T>(T) {
      return dropout(context.input_gradients[0].elements<T>(), context.output_gradient.elements<T>(),
                     probability_, stream(context), context.stream);
    });
  }

 private:
  DropoutStream stream(const OpContext& context) const {
    return {context.seed, layer_, context.step, context.first * context.output.shape.size()};
  }

  float probability_;
  uint32_t layer_;
};

}  // namespace

Value ReLU::build(Graph& graph, Value x) const {
  if (graph.fuse_relu(x)) return x;
  return graph.add(std::make_unique<ReluOp>(), {x}, x.shape);
}

template <Pool kKind>
Value Pool2d<kKind>::build(Graph& graph, Value x) const {
  const char* const layer = kKind == Pool::average ? "AvgPool2d" : "MaxPool2d";
  return build_pool(kKind, layer, window_, options_, graph, x);
}
template class Pool2d<Pool::average>;
template class Pool2d<Pool::maximum>;

Value GlobalAvgPool::build(Graph& graph, Value x) const {
  return build_pool(Pool::average, "GlobalAvgPool", {x.shape.height, x.shape.width}, {}, graph, x);
}

Value Flatten::build(Graph& graph, Value x) const { return graph.reshape(x, {1, 1, x.shape.size()}); }

Value Dropout::build(Graph& graph, Value x) const {
  if (!(probability_ >= 0 && probability_ < 1))
    throw Error(
        bad_argument("Dropout: the probability is ", probability_, ", must be at least 0 and below 1"));
  const auto layer = static_cast<uint32_t>(graph.nodes().size());
  return graph.add(std::make_unique<DropoutOp>(probability_, layer), {x}, x.shape);
}

}  // namespace rondo::nn
