#include <rondo/kernels/conv/conv_checks.h>
#include <rondo/kernels/conv/winograd/winograd.h>
#include <rondo/kernels/core/counted.h>

#include <initializer_list>
#include <utility>

namespace rondo {
namespace {

constexpr int64_t kLimit = int64_t{1} << 31;  // one image and one filter bank are indexed with 32 bits

Status check_sizes(const char* operation, const char* tensor,
                   std::initializer_list<std::pair<const char*, int64_t>> sizes) {
  for (const auto& [dimension, size] : sizes)
    if (size < 0 || size >= kLimit)
      return bad_argument(operation, ": ", tensor, ".", dimension, " is ", size,
                          ", must be from 0 to 2^31 - 1");
  return {};
}

// The product of the sizes, each of which is in [0, 2^31); `kLimit` if the product is not below it.
int64_t bounded_product(std::initializer_list<int64_t> sizes) {
  int64_t product = 1;
  for (const int64_t size : sizes) {
    if (size == 0) return 0;
    product = product >= kLimit ? kLimit : product * size;
  }
  return product < kLimit ? product : kLimit;
}

// The options along an axis. `end`: the padding behind the last row; `side`: its name.
struct AxisOptions {
  const char *axis, *side;
  int64_t stride, pad, dilation, end;
  bool symmetric;
};
AxisOptions rows_in(const Conv2dOptions& o) {
  return {"h", "bottom", o.stride_h, o.pad_h, o.dilation_h, o.pad_bottom.value_or(o.pad_h), !o.pad_bottom};
}
AxisOptions columns_in(const Conv2dOptions& o) {
  return {"w", "right", o.stride_w, o.pad_w, o.dilation_w, o.pad_right.value_or(o.pad_w), !o.pad_right};
}

Status check_axis(const ConvNames& names, const AxisOptions& options, int64_t size, int64_t filter,
                  int64_t output) {
  const auto& [axis, side, stride, pad, dilation, end, symmetric] = options;
  if (stride < 1 || stride >= kLimit)
    return bad_argument(names.operation, ": stride_", axis, " is ", stride, ", must be from 1 to 2^31 - 1");
  if (pad < 0 || pad >= kLimit / 4)
    return bad_argument(names.operation, ": pad_", axis, " is ", pad, ", must be from 0 to 2^29 - 1");
  if (end < 0 || end >= kLimit / 4)
    return bad_argument(names.operation, ": pad_", side, " is ", end, ", must be from 0 to 2^29 - 1");
  if (dilation < 1 || dilation >= kLimit)
    return bad_argument(names.operation, ": dilation_", axis, " is ", dilation,
                        ", must be from 1 to 2^31 - 1");
  if (filter < 1)
    return bad_argument(names.operation, ": ", names.filter, " is ", filter, " along ", axis,
                        ", must be at least 1");
  const int64_t covered = (filter - 1) * dilation + 1;
  if (covered > size + pad + end)
    return bad_argument(names.operation, ": ", names.filter, " is ", filter, " along ", axis,
                        dilation > 1 ? concat(" and covers ", covered, " with dilation ", dilation) : "",
                        ", must be at most the padded ", names.input, ", ", size,
                        symmetric ? concat(" + 2 * ", pad) : concat(" + ", pad, " + ", end));
  const int64_t expected = conv2d_output_size(size, filter, stride, pad, dilation, end);
  if (output != expected)
    return bad_argument(names.operation, ": ", names.output, " is ", output, " along ", axis, ", must be ",
                        expected, " where ", names.input, " is ", size);
  return {};
}

}  // namespace

Status check_conv2d_shapes(const ConvNames& names, const ImageView<const float>& input,
                           const ImageView<const float>& output, const FilterView<const float>& filter,
                           const Conv2dOptions& options, ConvGeometry* geometry) {
  const char* op = names.operation;
  const auto algorithm = static_cast<int>(options.algorithm);
  if (algorithm < 0 || algorithm > static_cast<int>(ConvAlgorithm::winograd))
    return bad_argument(op, ": algorithm is the enumerator ", algorithm, ", must be from 0 to ",
                        static_cast<int>(ConvAlgorithm::winograd));
  const auto check_image = [&](const char* tensor, const ImageView<const float>& view) {
    RONDO_RETURN_IF_ERROR(check_sizes(op, tensor,
                                      {{"images", view.images},
                                       {"height", view.height},
                                       {"width", view.width},
                                       {"channels", view.channels}}));
    if (bounded_product({view.height, view.width, view.channels}) == kLimit)
      return bad_argument(op, ": one image of ", tensor, " has ", view.height, " x ", view.width, " x ",
                          view.channels, " values, must be below 2^31");
    return Status();
  };
  RONDO_RETURN_IF_ERROR(check_image(names.input, input));
  RONDO_RETURN_IF_ERROR(check_image(names.output, output));
  RONDO_RETURN_IF_ERROR(check_sizes(op, names.filter,
                                    {{"out_channels", filter.out_channels},
                                     {"height", filter.height},
                                     {"width", filter.width},
                                     {"in_channels", filter.in_channels}}));
  if (bounded_product({filter.out_channels, filter.height, filter.width, filter.in_channels}) == kLimit)
    return bad_argument(op, ": ", names.filter, " has ", filter.out_channels, " x ", filter.height, " x ",
                        filter.width, " x ", filter.in_channels, " values, must be below 2^31");

  const int64_t groups = options.groups;
  if (groups < 1 || groups >= kLimit)
    return bad_argument(op, ": groups is ", groups, ", must be from 1 to 2^31 - 1");
  for (const auto& [tensor, channels] :
       {std::pair(names.input, input.channels), std::pair(names.output, output.channels)})
    if (channels % groups != 0)
      return bad_argument(op, ": groups is ", groups, ", must divide the channels of ", tensor, ", ",
                          channels);
  if (filter.in_channels != input.channels / groups)
    return bad_argument(op, ": ", names.filter, ".in_channels is ", filter.in_channels,
                        ", must be the channels of ", names.input, groups > 1 ? " in a group, " : ", ",
                        input.channels / groups);
  if (output.channels != filter.out_channels)
    return bad_argument(op, ": ", names.output, ".channels is ", output.channels,
                        ", must be the out_channels of ", names.filter, ", ", filter.out_channels);
  if (output.images != input.images)
    return bad_argument(op, ": ", names.output, ".images is ", output.images, ", must be those of ",
                        names.input, ", ", input.images);
  RONDO_RETURN_IF_ERROR(check_axis(names, rows_in(options), input.height, filter.height, output.height));
  RONDO_RETURN_IF_ERROR(check_axis(names, columns_in(options), input.width, filter.width, output.width));

  // Kernels have the distances of taps in 32 bits. Without padding beyond the image they are within it.
  if ((options.dilation_h > 1 || options.dilation_w > 1) &&
      bounded_product({(filter.height - 1) * options.dilation_h + 1, input.width, input.channels}) == kLimit)
    return bad_argument(op, ": dilation_h is ", options.dilation_h, ", and the taps of ", names.filter,
                        " are 2^31 values or more apart");
  const auto as_int = [](int64_t value) { return static_cast<int>(value); };
  const auto pads = [](const AxisOptions& o, int64_t size, int64_t taps, int64_t outputs) {
    return o.pad > 0 || (outputs - 1) * o.stride - o.pad + (taps - 1) * o.dilation >= size;
  };
  *geometry = {.images = as_int(input.images),
               .h = as_int(input.height),
               .w = as_int(input.width),
               .c = as_int(input.channels),
               .k = as_int(filter.out_channels),
               .r = as_int(filter.height),
               .s = as_int(filter.width),
               .p = as_int(output.height),
               .q = as_int(output.width),
               .stride_h = output.height == 1 ? 1 : as_int(options.stride_h),
               .stride_w = output.width == 1 ? 1 : as_int(options.stride_w),
               .pad_h = as_int(options.pad_h),
               .pad_w = as_int(options.pad_w),
               .dilation_h = filter.height == 1 ? 1 : as_int(options.dilation_h),
               .dilation_w = filter.width == 1 ? 1 : as_int(options.dilation_w),
               .groups = as_int(groups),
               .padded = pads(rows_in(options), input.height, filter.height, output.height) ||
                         pads(columns_in(options), input.width, filter.width, output.width),
               .patch = as_int(filter.height * filter.width * filter.in_channels),
               .output_pixels = output.images * output.height * output.width};
  if (options.algorithm == ConvAlgorithm::winograd && options.math != Math::fp32)
    return bad_argument(op, ": the algorithm winograd has only the math fp32, and math is ",
                        name_of(options.math));
  if (options.algorithm == ConvAlgorithm::winograd && !winograd::fits(*geometry))
    return bad_argument(
        op,
        ": the algorithm winograd is for 3 x 3 filters with stride 1, padding up to 2, no dilation, one "
        "group, and channels in multiples of 16; ",
        names.filter, " is ", filter.out_channels, " x ", filter.height, " x ", filter.width, " x ",
        filter.in_channels, ", stride ", options.stride_h, " x ", options.stride_w, ", padding ",
        options.pad_h, " x ", options.pad_w, ", dilation ", options.dilation_h, " x ", options.dilation_w,
        ", ", counted(groups, "group"));
  return {};
}

Status check_conv2d_options(const char* operation, const Conv2dOptions& options, DType type) {
  if (type == DType::float32) return check_math(operation, options.math);
  const auto refuse = [&](const char* option, const char* value, const char* wanted) {
    return bad_argument(operation, ": ", option, " is ", value, ", must be ", wanted, " for ", name_of(type));
  };
  if (options.math != Math::fp32) return refuse("math", name_of(options.math), "fp32");
  if (options.algorithm == ConvAlgorithm::winograd)
    return refuse("algorithm", "winograd", "automatic or direct");
  return check_factor_type(operation, type);
}

}  // namespace rondo
