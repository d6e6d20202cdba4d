#include <rondo/bench/operators/conv.h>
#include <rondo/kernels/conv/conv_checks.h>
#include <rondo/kernels/conv/conv_transpose2d.h>
#include <rondo/kernels/core/counted.h>

namespace rondo::bench {
namespace {

// The convolution whose data gradient it is: from y to x.
ConvLayer transposed_layer(const OperatorRequest& request) {
  const Shape& s = request.shape;
  const auto rows = [&](const char* side, const char* taps) {
    return conv_transpose2d_output_size(s[side], s[taps], s["stride"], s["pad"], s["dilation"], s["pad"],
                                        s["output_pad"]);
  };
  return {"",     s["n"], rows("h", "r"), rows("w", "s"), s["k"],        s["c"],
          s["r"], s["s"], s["stride"],    s["pad"],       s["dilation"], s["groups"]};
}

// The request of that convolution.
OperatorRequest convolution_of(const OperatorRequest& request) {
  const ConvLayer l = transposed_layer(request);
  OperatorRequest of = request;
  of.kind = "";
  of.pass = "data_gradient";
  of.shape = {{"n", l.n},          {"h", l.h}, {"w", l.w},           {"c", l.c},     {"k", l.k},
              {"r", l.r},          {"s", l.s}, {"stride", l.stride}, {"pad", l.pad}, {"dilation", l.dilation},
              {"groups", l.groups}};
  return of;
}

template <class T>
OperatorCall transposed_call(const OperatorRequest& of, const ConvLayer& l, const Conv2dOptions& options) {
  OperatorCall call;
  OperandList& list = call.operands;
  // In the order of the operands of a convolution, for its check: its x is this y.
  const auto y = list.result<T>(saturating_product({l.n, l.h, l.w, l.c})),
             x = list.input<T>(saturating_product({l.n, l.p(), l.q(), l.k})),
             filter = list.input<T>(saturating_product({l.k, l.r, l.s, l.group_channels()}));
  const int64_t bytes =
      conv2d_workspace_bytes(ImageView<const float>{nullptr, l.n, l.h, l.w, l.c},
                             FilterView<const float>{nullptr, l.k, l.r, l.s, l.group_channels()}, options,
                             of.type)
          .data_gradient;
  const auto workspace = list.scratch(bytes);
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    return conv_transpose2d_with_plan<T>(nullptr, {o[y], l.n, l.h, l.w, l.c}, {o[x], l.n, l.p(), l.q(), l.k},
                                         {o[filter], l.k, l.r, l.s, l.group_channels()}, options, {},
                                         {o[workspace], bytes}, stream);
  };
  call.is_right = [=](const HostOperands& host) { return is_conv<T, float>(of, Channels::last, host); };
  return call;
}

OperatorCall make_conv_transpose(const OperatorRequest& request) {
  throw_if_error(check_factor_type("conv_transpose", request.type));
  throw_if_error(check_math("conv_transpose", request.math));
  const Shape& s = request.shape;
  if (s["c"] % s["groups"] != 0 || s["k"] % s["groups"] != 0)
    throw Error(bad_argument("groups is ", s["groups"], ", must divide c, which is ", s["c"],
                             ", and k, which is ", s["k"]));
  if (s["output_pad"] >= s["stride"])
    throw Error(bad_argument("output_pad is ", s["output_pad"], ", must be below the stride, ", s["stride"]));
  constexpr int64_t kLimit = int64_t{1} << 31;  // of conv_transpose2d_output_size()
  for (const char* const name : {"h", "w", "r", "s", "stride", "pad", "dilation"})
    if (s[name] >= kLimit) throw Error(bad_argument(name, " is ", s[name], ", must be below ", kLimit));
  const OperatorRequest of = convolution_of(request);
  const ConvLayer l = conv_layer(of);
  if (l.h == 0 || l.w == 0)
    throw Error(bad_argument("pad is ", l.pad, ", and the result has no rows or columns"));
  const Conv2dOptions options = conv_options(of);
  OperatorCall call = with_type(request.type, [&]<class T>() { return transposed_call<T>(of, l, options); });
  call.arithmetic = arithmetic_of(request.type, request.math);
  call.work.flops = 2.0 * static_cast<double>(saturating_product({l.n, l.p(), l.q(), l.k})) *
                    static_cast<double>(saturating_product({l.r, l.s, l.group_channels()}));
  ConvProblem problem = {.operation = ConvOperation::data_gradient, .arithmetic = call.arithmetic};
  throw_if_error(check_conv2d_shapes({"conv_transpose", "y", "x", "filter"}, {nullptr, l.n, l.h, l.w, l.c},
                                     {nullptr, l.n, l.p(), l.q(), l.k},
                                     {nullptr, l.k, l.r, l.s, l.group_channels()}, options,
                                     &problem.geometry));
  DeviceProperties device;
  throw_if_error(device_properties(&device));
  call.plan = concat(choose_conv_plan(problem, device));
  call.name =
      concat("transposed convolution of ", counted(l.n, "image"), " of ", s["h"], " x ", s["w"], " x ",
             s["c"], " to ", l.h, " x ", l.w, " x ", l.c, ", filters of ", l.r, " x ", l.s, ", stride ",
             l.stride, ", padding ", l.pad, l.dilation == 1 ? "" : concat(", dilation ", l.dilation),
             l.groups == 1 ? "" : concat(", ", counted(l.groups, "group")), type_suffix(request.type));
  return call;
}

}  // namespace

Operator conv_transpose_operator() {
  return {"conv_transpose",
          "A transposed convolution of NHWC images",
          {{"",
            {{"n", "images", 32},
             {"h", "height of an image", 14},
             {"w", "width of an image", 14},
             {"c", "channels of an image", 128},
             {"k", "channels of the result", 64},
             {"r", "height of a filter", 2},
             {"s", "width of a filter", 2},
             {"stride", "stride", 2},
             {"pad", "padding, which the result lacks", 0, 0},
             {"output_pad", "rows and columns at the end of the result", 0, 0},
             {"dilation", "distance of adjacent taps", 1},
             {"groups", "groups of channels", 1}},
            {},
            make_conv_transpose}},
          true};
}

}  // namespace rondo::bench
