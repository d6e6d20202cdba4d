#include <rondo/bench/operators/conv.h>
#include <rondo/bench/operators/covered.h>
#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/conv/conv_checks.h>
#include <rondo/kernels/core/counted.h>

#include <algorithm>

namespace rondo::bench {
namespace {

int64_t elements(const auto&... sides) { return saturating_product({sides...}); }

template <class T>
std::vector<float> as_floats(const T* values, int64_t size) {
  return {values, values + size};
}

double rounding_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::tf32:
    case Arithmetic::fp16:
      return 0x1p-11;
    case Arithmetic::bf16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

std::string conv_text(const OperatorRequest& request) {
  const ConvLayer l = conv_layer(request);
  return concat("convolution of ", counted(l.n, "image"), " of ", l.h, " x ", l.w, " x ", l.c, ", ",
                counted(l.k, "filter"), " of ", l.r, " x ", l.s, ", stride ", l.stride, ", padding ", l.pad,
                l.dilation == 1 ? "" : concat(", dilation ", l.dilation),
                l.groups == 1 ? "" : concat(", ", counted(l.groups, "group")), type_suffix(request.type));
}

template <class T>
OperatorCall pass_call(const OperatorRequest& request, const Conv2dOptions& options,
                       const std::optional<ConvPlan>& plan, int64_t workspace_bytes) {
  const ConvLayer l = conv_layer(request);
  const ConvOp op = conv_op(request.pass);
  const ImageView<const float> x_shape = {nullptr, l.n, l.h, l.w, l.c};
  const FilterView<const float> filter_shape = {nullptr, l.k, l.r, l.s, l.group_channels()};
  const Conv2dWorkspaceBytes of_library =
      conv2d_workspace_bytes(x_shape, filter_shape, options, request.type);
  const int64_t bytes =
      std::max({workspace_bytes, of_library.forward, of_library.data_gradient, of_library.filter_gradient});
  OperatorCall call;
  call.name = conv_text(request);
  call.arithmetic = arithmetic_of(request.type, request.math);
  const int64_t x_size = elements(l.n, l.h, l.w, l.c), y_size = elements(l.n, l.p(), l.q(), l.k),
                filter_size = elements(l.k, l.r, l.s, l.group_channels());
  call.work.flops =
      2.0 * static_cast<double>(y_size) * static_cast<double>(elements(l.r, l.s, l.group_channels()));
  OperandList& list = call.operands;
  const auto role = [&](ConvOp of_result) { return op == of_result ? Role::result : Role::input; };
  const auto x = list.add<T>(x_size, role(ConvOp::data_gradient), Fill::normal),
             y = list.add<T>(y_size, role(ConvOp::forward), Fill::normal);
  if (op != ConvOp::data_gradient)
    list.reads_only(x, elements(l.n, covered({l.h, l.r, l.stride, l.pad, l.dilation, l.p()}),
                                covered({l.w, l.s, l.stride, l.pad, l.dilation, l.q()}), l.c));
  const bool of_filter = op == ConvOp::filter_gradient;
  const auto filter = list.add<T>(of_filter ? 0 : filter_size, Role::input, Fill::normal);
  const auto dw = list.result<float>(of_filter ? filter_size : 0);
  const auto workspace = list.scratch(bytes);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    const ImageView<T> x_view = {o[x], l.n, l.h, l.w, l.c}, y_view = {o[y], l.n, l.p(), l.q(), l.k};
    const FilterView<T> filter_view = {o[filter], l.k, l.r, l.s, l.group_channels()};
    const FilterView<float> dw_view = {o[dw], l.k, l.r, l.s, l.group_channels()};
    const ConvPlan* const chosen = plan ? &*plan : nullptr;
    const Workspace scratch = {o[workspace], bytes};
    switch (op) {
      case ConvOp::data_gradient:
        return conv2d_data_gradient_with_plan<T>(chosen, x_view, y_view, filter_view, options, {}, scratch,
                                                 stream);
      case ConvOp::filter_gradient:
        return conv2d_filter_gradient_with_plan<T>(chosen, dw_view, y_view, x_view, options, {}, scratch,
                                                   stream);
      case ConvOp::forward:
        break;
    }
    return conv2d_forward_with_plan<T>(chosen, y_view, x_view, filter_view, options, {}, scratch, stream);
  };
  call.is_right = [=](const HostOperands& host) { return is_conv<T, float>(request, Channels::last, host); };
  return call;
}

OperatorCall make_conv(const OperatorRequest& request) {
  const ConvLayer l = conv_layer(request);
  OperatorCall call = conv_call(request, ConvAlgorithm::automatic, {}, 0);
  ConvProblem problem = {.operation = static_cast<ConvOperation>(conv_op(request.pass)),
                         .arithmetic = call.arithmetic};
  throw_if_error(check_conv2d_shapes(
      {"conv", "x", "y", "filter"}, {nullptr, l.n, l.h, l.w, l.c}, {nullptr, l.n, l.p(), l.q(), l.k},
      {nullptr, l.k, l.r, l.s, l.group_channels()}, conv_options(request), &problem.geometry));
  DeviceProperties device;
  throw_if_error(device_properties(&device));
  call.plan = concat(choose_conv_plan(problem, device));
  return call;
}

}  // namespace

ConvLayer conv_layer(const OperatorRequest& request) {
  const Shape& s = request.shape;
  return {"",     s["n"], s["h"],      s["w"],   s["c"],        s["k"],
          s["r"], s["s"], s["stride"], s["pad"], s["dilation"], s["groups"]};
}

ConvOp conv_op(const std::string& pass) {
  return pass == "data_gradient"     ? ConvOp::data_gradient
         : pass == "filter_gradient" ? ConvOp::filter_gradient
                                     : ConvOp::forward;
}

Conv2dOptions conv_options(const OperatorRequest& request) {
  const ConvLayer l = conv_layer(request);
  return {.stride_h = l.stride,
          .stride_w = l.stride,
          .pad_h = l.pad,
          .pad_w = l.pad,
          .math = request.math,
          .dilation_h = l.dilation,
          .dilation_w = l.dilation,
          .groups = l.groups};
}

template <class T, class Gradient>
bool is_conv(const OperatorRequest& request, Channels channels, const HostOperands& host) {
  const ConvLayer l = conv_layer(request);
  const ConvOp op = conv_op(request.pass);
  const auto floats = [&]<class V>(size_t operand, int64_t size, V) {
    return as_floats(host.after(OperandId<V>{operand}), size);
  };
  return is_convolution(l, op, channels, floats(0, l.x_size(), T()), floats(1, l.y_size(), T()),
                        op == ConvOp::filter_gradient ? floats(3, l.filter_size(), Gradient())
                                                      : floats(2, l.filter_size(), T()),
                        rounding_of(arithmetic_of(request.type, request.math)));
}
template bool is_conv<float, float>(const OperatorRequest&, Channels, const HostOperands&);
template bool is_conv<__nv_bfloat16, float>(const OperatorRequest&, Channels, const HostOperands&);
template bool is_conv<__half, float>(const OperatorRequest&, Channels, const HostOperands&);
template bool is_conv<__nv_bfloat16, __nv_bfloat16>(const OperatorRequest&, Channels, const HostOperands&);
template bool is_conv<__half, __half>(const OperatorRequest&, Channels, const HostOperands&);

OperatorCall conv_call(const OperatorRequest& request, ConvAlgorithm algorithm,
                       const std::optional<ConvPlan>& plan, int64_t workspace_bytes) {
  const ConvLayer l = conv_layer(request);
  throw_if_error(check_factor_type("conv", request.type));
  throw_if_error(check_math("conv", request.math));
  if (l.c % l.groups != 0 || l.k % l.groups != 0)
    throw Error(
        bad_argument("groups is ", l.groups, ", must divide c, which is ", l.c, ", and k, which is ", l.k));
  if (l.p() == 0 || l.q() == 0)
    throw Error(bad_argument(
        "the filter is ", l.r, " x ", l.s, l.dilation == 1 ? "" : concat(" with dilation ", l.dilation),
        ", must be at most the padded image: ", l.h + 2 * l.pad, " x ", l.w + 2 * l.pad));
  Conv2dOptions options = conv_options(request);
  options.algorithm = algorithm;
  return with_type(request.type,
                   [&]<class T>() { return pass_call<T>(request, options, plan, workspace_bytes); });
}

Operator conv_operator() {
  return {"conv",
          "A convolution of NHWC images, and its gradients",
          {{"",
            {{"n", "images", 32},
             {"h", "height of an image", 28},
             {"w", "width of an image", 28},
             {"c", "channels of an image", 64},
             {"k", "filters", 64},
             {"r", "height of a filter", 3},
             {"s", "width of a filter", 3},
             {"stride", "stride", 1},
             {"pad", "padding", 1, 0},
             {"dilation", "distance of adjacent taps", 1},
             {"groups", "groups of channels", 1}},
            {"forward", "data_gradient", "filter_gradient"},
            make_conv}},
          true};
}

}  // namespace rondo::bench
