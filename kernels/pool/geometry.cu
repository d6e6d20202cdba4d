#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/size.h>
#include <rondo/kernels/pool/geometry.cuh>

#include <numeric>

namespace rondo::pool {
namespace {

using Images = ImageView<const void>;

struct SideOptions {
  const char* name;
  int64_t window, stride, dilation, pad, pad_end;
};

Status check_side(const char* operation, const SideOptions& side, int64_t size, int64_t pooled,
                  bool ceil_mode) {
  if (side.window < 1 || side.stride < 1)
    return bad_argument(operation, ": the window's ", side.name, " is ", side.window, " and its stride ",
                        side.stride, ", both must be at least 1");
  if (side.dilation < 1)
    return bad_argument(operation, ": the dilation of the ", side.name, " is ", side.dilation,
                        ", must be at least 1");
  const int64_t most = saturating_product({side.window - 1, side.dilation});
  for (const int64_t pad : {side.pad, side.pad_end})
    if (pad < 0 || pad > most)
      return bad_argument(operation, ": the padding of the ", side.name, " is ", pad, ", must be in [0, ",
                          most, "], less than the window");
  if (size < 1)
    return bad_argument(operation, ": the ", side.name, " of the image is ", size, ", must be at least 1");
  if (side.pad > 0 && side.dilation > size)
    return bad_argument(operation, ": the dilation of the ", side.name, " is ", side.dilation,
                        ", must be at most ", size, " in an image of that ", side.name, " with padding");
  const int64_t fitting =
      pooled_size(size, side.window, side.stride, side.pad, side.pad_end, ceil_mode, side.dilation);
  if (fitting < 1)
    return bad_argument(operation, ": the window's ", side.name, " is ", side.window,
                        side.dilation > 1 ? concat(" with dilation ", side.dilation) : "",
                        ", must be at most the padded image's: ", size, " + ", side.pad, " + ", side.pad_end);
  if (pooled != fitting)
    return bad_argument(operation, ": the ", side.name, " of the pooled image is ", pooled, ", must be ",
                        fitting, " for an image with the ", side.name, " ", size);
  return {};
}

Status check_batch(const char* operation, const Images& image, const Images& pooled) {
  if (image.images == pooled.images && image.channels == pooled.channels) return {};
  return bad_argument(operation, ": the pooled image has ", counted(pooled.images, "image"), " of ",
                      counted(pooled.channels, "channel"), ", must have ", image.images, " of ",
                      image.channels, " like the image");
}

// After these checks, products of two sides fit in 64 bits, and offsets within an image in an int.
Status check_sides(const char* operation, std::initializer_list<int64_t> sides) {
  for (const int64_t side : sides)
    if (side > kMaxSide)
      return bad_argument(operation, ": a side of image or window is ", side, ", must be at most ", kMaxSide);
  return {};
}
Status check_areas(const char* operation, std::initializer_list<int64_t> areas, int64_t channels) {
  for (const int64_t area : areas)
    if (area > INT32_MAX / std::max<int64_t>(channels, 1))
      return bad_argument(operation, ": an image or window has ", counted(area, "pixel"), " of ",
                          counted(channels, "channel"), ", must have at most ", INT32_MAX, " elements");
  return {};
}

DilatedSide side_of(const SideOptions& side, int64_t size, int64_t pooled) {
  const auto narrow = [](int64_t value) { return static_cast<int>(value); };
  return {{narrow(size), narrow(pooled), narrow((side.window - 1) * side.dilation + 1), narrow(side.stride),
           narrow(side.pad), narrow(side.pad_end)},
          narrow(side.dilation),
          narrow(side.dilation / std::gcd(side.dilation, side.stride))};
}

}  // namespace

Status check_geometry(const char* operation, Images image, Images pooled, const PoolWindow& window,
                      Geometry<DilatedSide>* geometry) {
  const SideOptions rows = {"height",          window.height, window.stride_h,
                            window.dilation_h, window.pad_h,  window.bottom()},
                    cols = {"width",           window.width, window.stride_w,
                            window.dilation_w, window.pad_w, window.right()};
  RONDO_RETURN_IF_ERROR(check_batch(operation, image, pooled));
  RONDO_RETURN_IF_ERROR(check_side(operation, rows, image.height, pooled.height, window.ceil_mode));
  RONDO_RETURN_IF_ERROR(check_side(operation, cols, image.width, pooled.width, window.ceil_mode));
  // pooled_size() has found that the dilated window is no larger than the padded image.
  RONDO_RETURN_IF_ERROR(check_sides(
      operation,
      {image.height, image.width, pooled.height, pooled.width, (window.height - 1) * window.dilation_h + 1,
       (window.width - 1) * window.dilation_w + 1, window.stride_h, window.stride_w}));
  RONDO_RETURN_IF_ERROR(check_areas(
      operation, {image.height * image.width, pooled.height * pooled.width, window.height * window.width},
      image.channels));
  *geometry = {side_of(rows, image.height, pooled.height), side_of(cols, image.width, pooled.width),
               image.images, static_cast<int>(image.channels)};
  return {};
}

Status check_geometry(const char* operation, Images image, Images pooled, Geometry<AdaptiveSide>* geometry) {
  RONDO_RETURN_IF_ERROR(check_batch(operation, image, pooled));
  for (const Images& view : {image, pooled})
    if (view.height < 1 || view.width < 1)
      return bad_argument(operation, ": the image is ", image.height, " x ", image.width,
                          " and the pooled image ", pooled.height, " x ", pooled.width,
                          ", all sides must be at least 1");
  RONDO_RETURN_IF_ERROR(check_sides(operation, {image.height, image.width, pooled.height, pooled.width}));
  RONDO_RETURN_IF_ERROR(
      check_areas(operation, {image.height * image.width, pooled.height * pooled.width}, image.channels));
  const auto side = [](int64_t size, int64_t windows) {
    return AdaptiveSide{static_cast<int>(size), static_cast<int>(windows)};
  };
  *geometry = {side(image.height, pooled.height), side(image.width, pooled.width), image.images,
               static_cast<int>(image.channels)};
  return {};
}

}  // namespace rondo::pool
