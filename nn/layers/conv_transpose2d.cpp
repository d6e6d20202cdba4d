#include <rondo/nn/layers/conv_transpose2d.h>

#include <rondo/kernels/conv/conv_transpose2d.h>
#include <rondo/kernels/conv/workspace_bound.h>
#include <rondo/nn/layers/conv_layer.h>
#include <rondo/nn/layers/product_op.h>

#include <algorithm>

namespace rondo::nn {

namespace {

// The kernels are those of the convolution from the output to the input.
class ConvTransposeOp final : public ProductOp<ConvTransposeOp> {
 public:
  ConvTransposeOp(Shape in, Shape out, Size2d filter, const rondo::Conv2dOptions& options, bool bias,
                  DType type)
      : ProductOp(bias, options.math, type), in_(in), out_(out), filter_(filter), options_(options) {}

  std::string description() const override {
    return concat("transposed conv ", out_.channels, filter_text(filter_, options_), relu_ ? ", ReLU" : "",
                  math_suffix(math_));
  }
  double flops() const override {
    return 2.0 * static_cast<double>(in_.size()) *
           static_cast<double>(filter_.height * filter_.width * out_.channels / options_.groups);
  }
  int64_t workspace_bytes(int64_t batch) const override {
    return largest_workspace<conv2d_workspace_bytes>(batch);
  }
  int64_t workspace_bound(int64_t batch) const override {
    return largest_workspace<conv2d_workspace_bound>(batch);
  }

  template <class T>
  Status product(const OpContext& context) const {
    return conv_transpose2d(context.output.image<T>(), context.inputs[0].image<T>(),
                            filter(context.weight<T>(0)), options_, {.bias = bias(context), .relu = relu_},
                            context.workspace, context.stream);
  }
  // The input is the gradient of the convolution's output.
  template <class T>
  Status parameter_gradients(const OpContext& context) const {
    RONDO_RETURN_IF_ERROR(conv2d_filter_gradient(filter(context.parameter_gradients[0]),
                                                 ImageView<const T>(context.inputs[0].image<T>()),
                                                 ImageView<const T>(context.output_gradient.image<T>()),
                                                 options_, {}, context.workspace, context.stream));
    return sum_bias_gradient<T>(context);
  }
  template <class T>
  Status input_gradient(const OpContext& context) const {
    return conv2d_forward(context.input_gradients[0].image<T>(),
                          ImageView<const T>(context.output_gradient.image<T>()),
                          filter(context.weight<T>(0)), options_, {}, context.workspace, context.stream);
  }

 private:
  using WorkspaceFunction = Conv2dWorkspaceBytes(const ImageView<const float>&,
                                                 const FilterView<const float>&, const rondo::Conv2dOptions&,
                                                 DType);
  template <WorkspaceFunction* kOfConv>
  int64_t largest_workspace(int64_t batch) const {
    const ImageView<const float> y = {nullptr, batch, out_.height, out_.width, out_.channels};
    const Conv2dWorkspaceBytes bytes =
        kOfConv(y, filter(static_cast<const float*>(nullptr)), options_, type_);
    const int64_t of_bias = bias_gradient_workspace_bytes(batch * out_.height * out_.width, out_.channels);
    return std::max({bytes.forward, bytes.data_gradient, bytes.filter_gradient, has_bias_ ? of_bias : 0});
  }
  template <class T>
  FilterView<T> filter(T* data) const {
    return {data, in_.channels, filter_.height, filter_.width, out_.channels / options_.groups};
  }

  Shape in_, out_;
  Size2d filter_;
  rondo::Conv2dOptions options_;
};

}  // namespace

Value ConvTranspose2d::build(Graph& graph, Value x) const {
  const rondo::Conv2dOptions options =
      conv_options(options_, math_of_products("ConvTranspose2d", options_.math, graph, x.type));
  check_conv_layer("ConvTranspose2d", out_channels_, filter_, options, x.shape.channels);
  const Size2d& extra = options_.output_padding;
  if (extra.height < 0 || extra.width < 0 || extra.height >= options.stride_h ||
      extra.width >= options.stride_w)
    throw Error(bad_argument("ConvTranspose2d: output_padding is ", extra.height, " x ", extra.width,
                             ", must be at least 0 and below the stride, ", options.stride_h, " x ",
                             options.stride_w));
  const int64_t of_group = out_channels_ / options.groups;
  checked_product("ConvTranspose2d: the weight", {x.shape.channels, filter_.height, filter_.width, of_group});
  const auto [height, width] = conv_transpose2d_output_sides(
      x.shape.height, x.shape.width, filter_.height, filter_.width, options, extra.height, extra.width);
  if (height < 1 || width < 1)
    throw Error(bad_argument("ConvTranspose2d: padding ", options.pad_h, " x ", options.pad_w,
                             " leaves nothing of the result of an input of ", text(x.shape),
                             " with filters of ", filter_.height, " x ", filter_.width));
  const Shape out = {height, width, out_channels_};
  checked_product("ConvTranspose2d: the output", {height, width, out_channels_});
  const int64_t taps = filter_.height * filter_.width;
  const Fans fans = {taps * of_group, taps * x.shape.channels};
  const std::vector<int> parameters =
      weight_and_bias(graph, {x.shape.channels, filter_.height, filter_.width, of_group}, out_channels_,
                      options_.bias, options_.weights, fans);
  return graph.add(std::make_unique<ConvTransposeOp>(x.shape, out, filter_, options, options_.bias, x.type),
                   {x}, out, parameters);
}

}  // namespace rondo::nn
