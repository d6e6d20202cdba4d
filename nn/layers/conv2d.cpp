#include <rondo/nn/layers/conv2d.h>

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/workspace_bound.h>
#include <rondo/nn/layers/conv_layer.h>
#include <rondo/nn/layers/product_op.h>

#include <algorithm>

namespace rondo::nn {

namespace {

class ConvOp final : public ProductOp<ConvOp> {
 public:
  ConvOp(Shape in, Shape out, Size2d filter, const rondo::Conv2dOptions& options, bool bias, DType type)
      : ProductOp(bias, options.math, type), in_(in), out_(out), filter_(filter), options_(options) {}

  std::string description() const override {
    return concat("conv ", out_.channels, filter_text(filter_, options_), relu_ ? ", ReLU" : "",
                  math_suffix(math_));
  }
  double flops() const override {
    return 2.0 * static_cast<double>(out_.size()) *
           static_cast<double>(filter_.height * filter_.width * in_.channels / options_.groups);
  }
  bool fuse_sums() override { return sums_ = true; }
  int64_t workspace_bytes(int64_t batch) const override {
    return largest_workspace<conv2d_workspace_bytes>(batch);
  }
  int64_t workspace_bound(int64_t batch) const override {
    return largest_workspace<conv2d_workspace_bound>(batch);
  }

  template <class T>
  Status product(const OpContext& context) const {
    Conv2dEpilogueOf<T> epilogue{.bias = bias(context), .relu = relu_};
    if (context.output_sums) epilogue.sums = {context.output_sums, 2 * out_.channels};
    return conv2d_forward(context.output.image<T>(), context.inputs[0].image<T>(),
                          filter(context.weight<T>(0)), options_, epilogue, context.workspace,
                          context.stream);
  }
  template <class T>
  Status parameter_gradients(const OpContext& context) const {
    return conv2d_filter_gradient(
        filter(context.parameter_gradients[0]), ImageView<const T>(context.output_gradient.image<T>()),
        context.inputs[0].image<T>(), options_, {.bias_gradient = bias_gradient_view(context)},
        context.workspace, context.stream);
  }
  template <class T>
  Status input_gradient(const OpContext& context) const {
    return conv2d_data_gradient(
        context.input_gradients[0].image<T>(), ImageView<const T>(context.output_gradient.image<T>()),
        filter(context.weight<T>(0)), options_, {}, context.workspace, context.stream);
  }

 private:
  using WorkspaceFunction = Conv2dWorkspaceBytes(const ImageView<const float>&,
                                                 const FilterView<const float>&, const rondo::Conv2dOptions&,
                                                 DType);
  template <WorkspaceFunction* kOfConv>
  int64_t largest_workspace(int64_t batch) const {
    const ImageView<const float> x = {nullptr, batch, in_.height, in_.width, in_.channels};
    const Conv2dWorkspaceBytes bytes =
        kOfConv(x, filter(static_cast<const float*>(nullptr)), options_, type_);
    return std::max({sums_ ? bytes.forward_sums : bytes.forward, bytes.data_gradient,
                     has_bias_ ? bytes.filter_gradient_bias : bytes.filter_gradient});
  }
  template <class T>
  FilterView<T> filter(T* data) const {
    return {data, out_.channels, filter_.height, filter_.width, in_.channels / options_.groups};
  }

  Shape in_, out_;
  Size2d filter_;
  rondo::Conv2dOptions options_;
  bool sums_ = false;
};

}  // namespace

AnyModule Conv2d::with_outputs(int64_t outputs) const {
  if (options_.groups != 1) return Module::with_outputs(outputs);
  return Conv2d(outputs, filter_, options_);
}

Value Conv2d::build(Graph& graph, Value x) const {
  rondo::Conv2dOptions options =
      conv_options(options_, math_of_products("Conv2d", options_.math, graph, x.type));
  if (const auto& end = options_.padding_end)
    options.pad_bottom = end->height, options.pad_right = end->width;
  check_conv_layer("Conv2d", out_channels_, filter_, options, x.shape.channels);
  const int64_t in_channels = x.shape.channels / options.groups;
  checked_product("Conv2d: the weight", {out_channels_, filter_.height, filter_.width, in_channels});
  const auto [p, q] =
      conv2d_output_sides(x.shape.height, x.shape.width, filter_.height, filter_.width, options);
  if (p < 1 || q < 1)
    throw Error(bad_argument("Conv2d: the filter of ", filter_.height, " x ", filter_.width,
                             " does not fit the input of ", text(x.shape), " with padding ",
                             padding_text(options),
                             options.dilation_h > 1 || options.dilation_w > 1
                                 ? concat(" and dilation ", options.dilation_h, " x ", options.dilation_w)
                                 : ""));
  const Shape out = {p, q, out_channels_};
  const int64_t taps = filter_.height * filter_.width;
  const Fans fans = {taps * in_channels, taps * out_channels_};
  const std::vector<int> parameters =
      weight_and_bias(graph, {out_channels_, filter_.height, filter_.width, in_channels}, out_channels_,
                      options_.bias, options_.weights, fans);
  return graph.add(std::make_unique<ConvOp>(x.shape, out, filter_, options, options_.bias, x.type), {x}, out,
                   parameters);
}

}  // namespace rondo::nn
