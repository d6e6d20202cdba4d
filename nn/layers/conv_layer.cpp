#include <rondo/nn/layers/conv_layer.h>

#include <rondo/kernels/core/counted.h>

#include <algorithm>
#include <limits>

namespace rondo::nn {

namespace {

Size2d padding_end(const rondo::Conv2dOptions& o) {
  return {o.pad_bottom.value_or(o.pad_h), o.pad_right.value_or(o.pad_w)};
}

bool has_own_end(const rondo::Conv2dOptions& o) {
  return padding_end(o).height != o.pad_h || padding_end(o).width != o.pad_w;
}

}  // namespace

std::string padding_text(const rondo::Conv2dOptions& o) {
  const Size2d end = padding_end(o);
  return concat(o.pad_h, " x ", o.pad_w,
                has_own_end(o) ? concat(", at the end ", end.height, " x ", end.width) : "");
}

void check_conv_layer(const char* layer, int64_t out_channels, Size2d filter,
                      const rondo::Conv2dOptions& options, int64_t in_channels) {
  const Size2d end = padding_end(options);
  if (out_channels < 1 || filter.height < 1 || filter.width < 1 || options.stride_h < 1 ||
      options.stride_w < 1 || options.pad_h < 0 || options.pad_w < 0 || end.height < 0 || end.width < 0 ||
      options.dilation_h < 1 || options.dilation_w < 1)
    throw Error(bad_argument(layer, ": ", counted(out_channels, "filter"), " of ", filter.height, " x ",
                             filter.width, " with stride ", options.stride_h, " x ", options.stride_w,
                             ", dilation ", options.dilation_h, " x ", options.dilation_w, " and padding ",
                             padding_text(options), ": all but the padding must be at least 1"));
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const int64_t most =
      std::max({filter.height, filter.width, options.stride_h, options.stride_w, options.pad_h, options.pad_w,
                end.height, end.width, options.dilation_h, options.dilation_w});
  if (most > kMost)
    throw Error(bad_argument(layer, ": a side of the filter, the stride, the dilation or the padding is ",
                             most, ", must be at most ", kMost));
  if (options.groups < 1 || in_channels % options.groups != 0 || out_channels % options.groups != 0)
    throw Error(bad_argument(layer, ": groups is ", options.groups, ", must be a divisor of ", in_channels,
                             " input channels and of ", out_channels, " output channels"));
}

std::string filter_text(Size2d filter, const rondo::Conv2dOptions& o) {
  const auto unless_one = [](const char* what, int64_t h, int64_t w) {
    return h == 1 && w == 1 ? std::string() : concat(", ", what, " ", std::max(h, w));
  };
  return concat(" @ ", filter.height, "x", filter.width, unless_one("stride", o.stride_h, o.stride_w),
                unless_one("dilation", o.dilation_h, o.dilation_w),
                o.groups > 1 ? concat(", ", o.groups, " groups") : "",
                has_own_end(o) ? concat(", padding ", padding_text(o)) : "");
}

}  // namespace rondo::nn
