// Policies of the filter gradient's kernel (filter_gradient_wgmma.cuh). A policy defines the pixels of y that
// a step of k sums over, and copies x and dy. Each has
//
//   make_maps(x_map, dy_map, x, dy, g)
//   steps()                             the number of steps; after make_maps()
//   origin(step)                        where a step begins
//   advance(g, origin)                  to the next step
//   load_x(to, map, g, origin, r, s, channel, barrier)
//                                       a panel of x: 64 channels of what its pixels read through tap (r, s)
//   load_dy(to, map, origin, channel, barrier)
//                                       a panel of dy
//
// BoxPixels: the pixels of a box (pixel_box.h), with strides of 1. Im2colPixels: pixels that follow each
// other in the images. Pixels past the end are zeros in x and dy.
#pragma once

#include <rondo/kernels/conv/implicit_gemm/wgmma/wgmma_conv.cuh>

namespace rondo {

struct BoxPixels {
  BoxGrid grid;
  using Origin = ImagePixel;

  int64_t steps() const { return grid.size(); }
  __device__ Origin origin(int step) const { return grid.origin(step); }
  __device__ __forceinline__ void advance(const ConvGeometry& g, Origin& from) const {
    from.w += grid.box.w;
    if (from.w < g.q) return;
    from.w = 0, from.h += grid.box.h;
    if (from.h < g.p) return;
    from.h = 0, from.image += grid.box.images;
  }
  __device__ __forceinline__ void load_x(void* to, const CUtensorMap& map, const ConvGeometry& g,
                                         const Origin& from, int r, int s, int channel,
                                         ptx::Mbarrier* full) const {
    ptx::tma_load(
        to, map,
        {channel, from.w - g.pad_w + s * g.dilation_w, from.h - g.pad_h + r * g.dilation_h, from.image},
        full);
  }
  __device__ __forceinline__ void load_dy(void* to, const CUtensorMap& map, const Origin& from, int channel,
                                          ptx::Mbarrier* full) const {
    ptx::tma_load(to, map, {channel, from.w, from.h, from.image}, full);
  }
  template <class T>
  Status make_maps(CUtensorMap* x_map, CUtensorMap* dy_map, const T* x, const T* dy, const ConvGeometry& g) {
    grid = {choose_pixel_box(kPixelsOfGradientStep, g.q, g.p, g.images), g.q, g.p, g.images};
    RONDO_RETURN_IF_ERROR(make_image_map(x_map, x, g.images, g.h, g.w, g.c, grid.box));
    return make_image_map(dy_map, dy, g.images, g.p, g.q, g.k, grid.box);
  }
};

struct Im2colPixels {
  PixelNumbers numbers;
  NumberedPixel of_step;  // the distance of two steps
  using Origin = NumberedPixel;

  __host__ __device__ static Axes axes(const ConvGeometry& g) {
    return axes_of<ConvOperation::forward>(g, 0);
  }
  int64_t steps() const { return ceil_div<int64_t>(numbers.count, kPixelsOfGradientStep); }
  __device__ Origin origin(int step) const { return numbers.pixel(step * kPixelsOfGradientStep); }
  __device__ __forceinline__ void advance(const ConvGeometry& g, Origin& from) const {
    from.number += of_step.number, from.w += of_step.w, from.h += of_step.h, from.image += of_step.image;
    if (from.w >= g.q) from.w -= g.q, ++from.h;
    if (from.h >= g.p) from.h -= g.p, ++from.image;
  }
  __device__ __forceinline__ void load_x(void* to, const CUtensorMap& map, const ConvGeometry& g,
                                         const Origin& from, int r, int s, int channel,
                                         ptx::Mbarrier* full) const {
    load_im2col(to, map, axes(g), from, r, s, channel, full);
  }
  // dy is a matrix of pixels and channels.
  __device__ __forceinline__ void load_dy(void* to, const CUtensorMap& map, const Origin& from, int channel,
                                          ptx::Mbarrier* full) const {
    ptx::tma_load(to, map, {channel, static_cast<int>(from.number)}, full);
  }
  template <class T>
  Status make_maps(CUtensorMap* x_map, CUtensorMap* dy_map, const T* x, const T* dy, const ConvGeometry& g) {
    numbers = PixelNumbers(axes(g), g.images);
    of_step = numbers.pixel(kPixelsOfGradientStep);
    RONDO_RETURN_IF_ERROR(make_im2col_map(x_map, x, axes(g), g.images, g.c, kPixelsOfGradientStep));
    return make_tensor_map(dy_map, {.data = dy,
                                    .dtype = dtype_of<T>,
                                    .rank = 2,
                                    .size = {g.k, g.output_pixels},
                                    .stride = {0, int64_t{g.k} * static_cast<int64_t>(sizeof(T))},
                                    .box = {kChannelsPerLine<T>, kPixelsOfGradientStep},
                                    .swizzle = Swizzle::bytes128});
  }
};

}  // namespace rondo
