#include <rondo/nn/layers/conv2d.h>

#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/conv/workspace_bound.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/reduce/bias_gradient.h>

#include <algorithm>
#include <limits>

namespace rondo::nn {

namespace {

class ConvOp : public Op {
 public:
  ConvOp(Shape in, Shape out, Size2d filter, const rondo::Conv2dOptions& options, bool bias, DType type)
      : in_(in), out_(out), filter_(filter), options_(options), bias_(bias), type_(type) {}

  std::string description() const override {
    std::string stride = options_.stride_h == 1 && options_.stride_w == 1
                             ? std::string()
                             : concat(", stride ", std::max(options_.stride_h, options_.stride_w));
    return concat("conv ", out_.channels, " @ ", filter_.height, "x", filter_.width, stride,
                  relu_ ? ", ReLU" : "", math_suffix(options_.math));
  }
  double flops() const override {
    return 2.0 * static_cast<double>(out_.size()) *
           static_cast<double>(filter_.height * filter_.width * in_.channels);
  }
  Saves saves() const override { return {.inputs = true, .output = relu_}; }
  bool fuse_relu() override { return relu_ = true; }
  bool fuse_sums() override { return sums_ = true; }

  int64_t workspace_bytes(int64_t batch) const override {
    return largest_workspace(batch, conv2d_workspace_bytes);
  }
  int64_t workspace_bound(int64_t batch) const override {
    return largest_workspace(batch, conv2d_workspace_bound);
  }

  Status forward(const OpContext& context) const override {
    return with_element_type(type_, [&]<class T>(T) { return forward_in<T>(context); });
  }
  Status backward(const OpContext& context) const override {
    return with_element_type(type_, [&]<class T>(T) { return backward_in<T>(context); });
  }

 private:
  template <class OfConv>
  int64_t largest_workspace(int64_t batch, const OfConv& of_conv) const {
    const ImageView<const float> x = {nullptr, batch, in_.height, in_.width, in_.channels};
    const Conv2dWorkspaceBytes bytes =
        of_conv(x, filter(static_cast<const float*>(nullptr)), options_, type_);
    const int64_t of_bias = bias_gradient_workspace_bytes(batch * out_.height * out_.width, out_.channels);
    return std::max({sums_ ? bytes.forward_sums : bytes.forward, bytes.data_gradient, bytes.filter_gradient,
                     bias_ ? of_bias : 0});
  }

  // T: the type of the activations.
  template <class T>
  Status forward_in(const OpContext& context) const {
    Conv2dEpilogueOf<T> epilogue{.relu = relu_};
    if (bias_) epilogue.bias = {context.parameters[1], out_.channels};
    if (context.output_sums) epilogue.sums = {context.output_sums, 2 * out_.channels};
    return conv2d_forward(context.output.image<T>(), context.inputs[0].image<T>(),
                          filter(context.weight<T>(0)), options_, epilogue, context.workspace,
                          context.stream);
  }

  // The ReLU's gradient is computed in place: output_gradient is not needed afterwards.
  template <class T>
  Status backward_in(const OpContext& context) const {
    const VectorView<T> elements = context.output_gradient.elements<T>();
    const ImageView<const T> dy = context.output_gradient.image<T>();
    if (relu_)
      RONDO_RETURN_IF_ERROR(relu_backward(elements, elements, context.output.elements<T>(), context.stream));
    RONDO_RETURN_IF_ERROR(conv2d_filter_gradient(filter(context.parameter_gradients[0]), dy,
                                                 context.inputs[0].image<T>(), options_, context.workspace,
                                                 context.stream));
    if (bias_)
      RONDO_RETURN_IF_ERROR(bias_gradient({context.parameter_gradients[1], out_.channels},
                                          context.output_gradient.pixels<T>(), 0.0f, context.workspace,
                                          context.stream));
    if (!context.input_gradients[0].data) return {};
    return conv2d_data_gradient(context.input_gradients[0].image<T>(), dy, filter(context.weight<T>(0)),
                                options_, context.workspace, context.stream);
  }

  template <class T>
  FilterView<T> filter(T* data) const {
    return {data, out_.channels, filter_.height, filter_.width, in_.channels};
  }

  Shape in_, out_;
  Size2d filter_;
  rondo::Conv2dOptions options_;
  bool bias_, relu_ = false, sums_ = false;
  DType type_;  // of the activations
};

}  // namespace

Value Conv2d::build(Graph& graph, Value x) const {
  const rondo::Conv2dOptions options = {options_.stride.height,   options_.stride.width,
                                        options_.padding.height,  options_.padding.width,
                                        ConvAlgorithm::automatic, options_.math.value_or(graph.math())};
  if (x.type != DType::float32 && options.math != Math::fp32)
    throw Error(bad_argument("Conv2d: the math is ", name_of(options.math),
                             ", must be fp32 with activations of ", name_of(x.type)));
  if (out_channels_ < 1 || filter_.height < 1 || filter_.width < 1 || options.stride_h < 1 ||
      options.stride_w < 1 || options.pad_h < 0 || options.pad_w < 0)
    throw Error(bad_argument("Conv2d: ", counted(out_channels_, "filter"), " of ", filter_.height, " x ",
                             filter_.width, " with stride ", options.stride_h, " x ", options.stride_w,
                             " and padding ", options.pad_h, " x ", options.pad_w,
                             ": all but the padding must be at least 1"));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t most = std::max(
      {filter_.height, filter_.width, options.stride_h, options.stride_w, options.pad_h, options.pad_w});
  if (most > kMost)
    throw Error(bad_argument("Conv2d: a side of the filter, the stride or the padding is ", most,
                             ", must be at most ", kMost));
  checked_product("Conv2d: the weight", {out_channels_, filter_.height, filter_.width, x.shape.channels});
  if (x.shape.height + 2 * options.pad_h < filter_.height ||
      x.shape.width + 2 * options.pad_w < filter_.width)
    throw Error(bad_argument("Conv2d: the filter of ", filter_.height, " x ", filter_.width,
                             " does not fit the input of ", text(x.shape), " with padding ", options.pad_h,
                             " x ", options.pad_w));
  const Shape out = {conv2d_output_size(x.shape.height, filter_.height, options.stride_h, options.pad_h),
                     conv2d_output_size(x.shape.width, filter_.width, options.stride_w, options.pad_w),
                     out_channels_};
  const int64_t taps = filter_.height * filter_.width;
  const Fans fans = {taps * x.shape.channels, taps * out_channels_};
  std::vector<int> parameters = {
      graph.parameter("weight", {out_channels_, filter_.height, filter_.width, x.shape.channels},
                      options_.weights.weights(fans))};
  if (options_.bias)
    parameters.push_back(graph.parameter("bias", {out_channels_}, options_.weights.biases(fans)));
  return graph.add(std::make_unique<ConvOp>(x.shape, out, filter_, options, options_.bias, x.type), {x}, out,
                   parameters);
}

}  // namespace rondo::nn
