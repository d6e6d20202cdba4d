#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/pool/geometry.cuh>

namespace rondo::pool {
namespace {

struct Side {
  const char* name;
  int64_t size, window, stride, pad, pad_end, pooled;
};

Status check_side(const char* operation, const Side& side, bool ceil_mode) {
  if (side.window < 1 || side.stride < 1)
    return bad_argument(operation, ": the window's ", side.name, " is ", side.window, " and its stride ",
                        side.stride, ", both must be at least 1");
  for (const int64_t pad : {side.pad, side.pad_end})
    if (pad < 0 || pad >= side.window)
      return bad_argument(operation, ": the padding of the ", side.name, " is ", pad, ", must be in [0, ",
                          side.window - 1, "], less than the window");
  if (side.size < 1)
    return bad_argument(operation, ": the ", side.name, " of the image is ", side.size,
                        ", must be at least 1");
  const int64_t pooled = pooled_size(side.size, side.window, side.stride, side.pad, side.pad_end, ceil_mode);
  if (pooled < 1)
    return bad_argument(operation, ": the window's ", side.name, " is ", side.window,
                        ", must be at most the padded image's: ", side.size, " + ", side.pad, " + ",
                        side.pad_end);
  if (side.pooled != pooled)
    return bad_argument(operation, ": the ", side.name, " of the pooled image is ", side.pooled, ", must be ",
                        pooled, " for an image with the ", side.name, " ", side.size);
  return {};
}

}  // namespace

Status check_geometry(const char* operation, ImageView<const void> image, ImageView<const void> pooled,
                      const PoolWindow& window, Geometry<AnyWindow>* geometry) {
  if (image.images != pooled.images || image.channels != pooled.channels)
    return bad_argument(operation, ": the pooled image has ", counted(pooled.images, "image"), " of ",
                        counted(pooled.channels, "channel"), ", must have ", image.images, " of ",
                        image.channels, " like the image");
  RONDO_RETURN_IF_ERROR(check_side(
      operation,
      {"height", image.height, window.height, window.stride_h, window.pad_h, window.bottom(), pooled.height},
      window.ceil_mode));
  RONDO_RETURN_IF_ERROR(check_side(
      operation,
      {"width", image.width, window.width, window.stride_w, window.pad_w, window.right(), pooled.width},
      window.ceil_mode));
  // After this check, products of two sides fit in 64 bits and can be compared.
  for (const int64_t side : {image.height, image.width, pooled.height, pooled.width, window.height,
                             window.width, window.stride_h, window.stride_w})
    if (side > kMaxGridSide)
      return bad_argument(operation, ": a side of image or window is ", side, ", must be at most ",
                          kMaxGridSide);
  for (const int64_t area :
       {image.height * image.width, pooled.height * pooled.width, window.height * window.width})
    if (area > INT32_MAX / (image.channels > 0 ? image.channels : 1))
      return bad_argument(operation, ": an image or window has ", counted(area, "pixel"), " of ",
                          counted(image.channels, "channel"), ", must have at most ", INT32_MAX, " elements");
  const auto narrow = [](int64_t value) { return static_cast<int>(value); };
  *geometry = {{narrow(window.height), narrow(window.width), narrow(window.stride_h), narrow(window.stride_w),
                narrow(window.pad_h), narrow(window.pad_w), narrow(window.bottom()), narrow(window.right())},
               image.images,
               narrow(image.height),
               narrow(image.width),
               narrow(image.channels),
               narrow(pooled.height),
               narrow(pooled.width)};
  return {};
}

}  // namespace rondo::pool
