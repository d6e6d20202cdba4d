#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/pool/geometry.cuh>

namespace rondo::pool {
namespace {

Status check_side(const char* operation, const char* side, int64_t size, int64_t window, int64_t stride,
                  int64_t pad, int64_t pooled) {
  if (window < 1 || stride < 1)
    return bad_argument(operation, ": the window's ", side, " is ", window, " and its stride ", stride,
                        ", both must be at least 1");
  if (pad < 0 || pad > window / 2)
    return bad_argument(operation, ": the padding of the ", side, " is ", pad, ", must be in [0, ",
                        window / 2, "], half the window");
  if (size < 1)
    return bad_argument(operation, ": the ", side, " of the image is ", size, ", must be at least 1");
  if (pooled_size(size, window, stride, pad) < 1)
    return bad_argument(operation, ": the window's ", side, " is ", window,
                        ", must be at most the padded image's: ", size, " + 2 * ", pad);
  if (pooled != pooled_size(size, window, stride, pad))
    return bad_argument(operation, ": the ", side, " of the pooled image is ", pooled, ", must be ",
                        pooled_size(size, window, stride, pad), " for an image with the ", side, " ", size);
  return {};
}

}  // namespace

Status check_geometry(const char* operation, ImageView<const void> image, ImageView<const void> pooled,
                      const PoolWindow& window, Geometry<AnyWindow>* geometry) {
  if (image.images != pooled.images || image.channels != pooled.channels)
    return bad_argument(operation, ": the pooled image has ", counted(pooled.images, "image"), " of ",
                        counted(pooled.channels, "channel"), ", must have ", image.images, " of ",
                        image.channels, " like the image");
  RONDO_RETURN_IF_ERROR(check_side(operation, "height", image.height, window.height, window.stride_h,
                                   window.pad_h, pooled.height));
  RONDO_RETURN_IF_ERROR(
      check_side(operation, "width", image.width, window.width, window.stride_w, window.pad_w, pooled.width));
  // After this check, products of two sides fit in 64 bits and can be compared.
  for (const int64_t side :
       {image.height, image.width, window.height, window.width, window.stride_h, window.stride_w})
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
                narrow(window.pad_h), narrow(window.pad_w)},
               image.images,
               narrow(image.height),
               narrow(image.width),
               narrow(image.channels),
               narrow(pooled.height),
               narrow(pooled.width)};
  return {};
}

}  // namespace rondo::pool
