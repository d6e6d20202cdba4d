#include <rondo/nn/layers/simple.h>

#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/core/size.h>
#include <rondo/kernels/pool/adaptive_pool.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/random/dropout.h>

#include <algorithm>
#include <limits>
#include <numeric>

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

const char* name_of(Pool kind) { return kind == Pool::average ? "average" : "maximum"; }

class PoolOp : public Op {
 public:
  PoolOp(Pool kind, Shape out, PoolWindow window) : kind_(kind), out_(out), window_(window) {}
  std::string description() const override {
    const int64_t dilation = std::max(window_.dilation_h, window_.dilation_w);
    return concat(name_of(kind_), " of ", window_.height, "x", window_.width,
                  dilation > 1 ? concat(", dilation ", dilation) : "");
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

// The backward of maxima reads their indices and no values.
class AdaptivePoolOp : public Op {
 public:
  AdaptivePoolOp(Pool kind, Shape in, Shape out) : kind_(kind), in_(in), out_(out) {}
  std::string description() const override {
    return concat("adaptive ", name_of(kind_), " to ", out_.height, "x", out_.width);
  }
  double flops() const override {
    return summed_sizes(in_.height, out_.height) * summed_sizes(in_.width, out_.width) *
           static_cast<double>(out_.channels);
  }
  int64_t saved_floats() const override {
    static_assert(sizeof(int32_t) == sizeof(float));
    return kind_ == Pool::maximum ? out_.size() : 0;
  }

  Status forward(const OpContext& context) const override {
    return with_element_type(context.output.type, [&]<class T>(T) {
      const ImageView<T> y = context.output.image<T>();
      const ImageView<const T> x = context.inputs[0].image<T>();
      return kind_ == Pool::maximum ? adaptive_max_pool(y, indices(context), x, context.stream)
                                    : adaptive_avg_pool(y, x, context.stream);
    });
  }
  Status backward(const OpContext& context) const override {
    if (!context.input_gradients[0].data) return {};
    return with_element_type(context.output_gradient.type, [&]<class T>(T) {
      const ImageView<T> dx = context.input_gradients[0].image<T>();
      const ImageView<const T> dy = context.output_gradient.image<T>();
      return kind_ == Pool::maximum ? adaptive_max_pool_backward(dx, dy, indices(context), context.stream)
                                    : adaptive_avg_pool_backward(dx, dy, context.stream);
    });
  }

 private:
  ImageView<int32_t> indices(const OpContext& context) const {
    return {reinterpret_cast<int32_t*>(context.saved), context.batch, out_.height, out_.width, out_.channels};
  }
  // The sum of the windows' sizes along one side. Of the windows - 1 borders between them, all but
  // gcd(size, windows) - 1 lie inside an element, which then belongs to both.
  static double summed_sizes(int64_t size, int64_t windows) {
    return static_cast<double>(size + windows - std::gcd(size, windows));
  }

  Pool kind_;
  Shape in_, out_;
};

// Throws what the kernel refuses in images of these shapes. Without images it does nothing else.
void check_kernel(const char* name, const Status& status) {
  if (!status.ok()) throw Error(bad_argument(name, ": ", status.message()));
}
ImageView<float> no_images(const Shape& shape) {
  return {nullptr, 0, shape.height, shape.width, shape.channels};
}

Value build_pool(Pool kind, const char* name, Size2d window, const PoolOptions& options, Graph& graph,
                 Value x) {
  const Size2d stride = {options.stride.height > 0 ? options.stride.height : window.height,
                         options.stride.width > 0 ? options.stride.width : window.width};
  const Size2d end = options.padding_end.value_or(options.padding), dilation = options.dilation;
  const PoolWindow pool = {window.height,          window.width,          stride.height, stride.width,
                           options.padding.height, options.padding.width, end.height,    end.width,
                           options.ceil_mode,      dilation.height,       dilation.width};
  if (kind == Pool::average && (dilation.height != 1 || dilation.width != 1))
    throw Error(bad_argument(name, ": the dilation is ", dilation.height, " x ", dilation.width,
                             ", must be 1 x 1: only MaxPool2d has dilation"));
  const auto outside = [](int64_t pad, int64_t side, int64_t step) {
    return pad < 0 || pad > saturating_product({side - 1, step});
  };
  if (window.height < 1 || window.width < 1 || options.stride.height < 0 || options.stride.width < 0 ||
      dilation.height < 1 || dilation.width < 1 || outside(pool.pad_h, window.height, dilation.height) ||
      outside(end.height, window.height, dilation.height) ||
      outside(pool.pad_w, window.width, dilation.width) || outside(end.width, window.width, dilation.width))
    throw Error(bad_argument(name, ": the window is ", window.height, " x ", window.width, ", the stride ",
                             options.stride.height, " x ", options.stride.width, ", the dilation ",
                             dilation.height, " x ", dilation.width, " and the padding ", pool.pad_h, " x ",
                             pool.pad_w, ", at the end ", end.height, " x ", end.width,
                             ": window and dilation must be at least 1, the padding less than the window"));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t most = std::max({window.height, window.width, stride.height, stride.width});
  if (most > kMost)
    throw Error(
        bad_argument(name, ": a side of the window or the stride is ", most, ", must be at most ", kMost));
  const Shape out = {pooled_height(x.shape.height, pool), pooled_width(x.shape.width, pool),
                     x.shape.channels};
  if (out.height < 1 || out.width < 1)
    throw Error(bad_argument(
        name, ": the window of ", window.height, " x ", window.width,
        kind == Pool::maximum ? concat(" with dilation ", dilation.height, " x ", dilation.width) : "",
        " does not fit the input of ", text(x.shape)));
  const ImageView<float> y = no_images(out), from = no_images(x.shape);
  check_kernel(name, kind == Pool::maximum ? max_pool(y, from, pool, nullptr)
                                           : avg_pool(y, from, pool, AverageOver::window, nullptr));
  return graph.add(std::make_unique<PoolOp>(kind, out, pool), {x}, out);
}

Value build_adaptive_pool(Pool kind, const char* name, Size2d output, Graph& graph, Value x) {
  if (output.height < 1 || output.width < 1)
    throw Error(bad_argument(name, ": the output is ", output.height, " x ", output.width,
                             ", its sides must be at least 1"));
  const Shape out = {output.height, output.width, x.shape.channels};
  const ImageView<float> y = no_images(out), from = no_images(x.shape);
  check_kernel(name, kind == Pool::maximum ? adaptive_max_pool(y, {}, from, nullptr)
                                           : adaptive_avg_pool(y, from, nullptr));
  return graph.add(std::make_unique<AdaptivePoolOp>(kind, x.shape, out), {x}, out);
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

template <Pool kKind>
Value AdaptivePool2d<kKind>::build(Graph& graph, Value x) const {
  const char* const layer = kKind == Pool::average ? "AdaptiveAvgPool2d" : "AdaptiveMaxPool2d";
  return build_adaptive_pool(kKind, layer, output_, graph, x);
}
template class AdaptivePool2d<Pool::average>;
template class AdaptivePool2d<Pool::maximum>;

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
