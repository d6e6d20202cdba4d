// Which pixels the rows of a tile of conv2d_wgmma.cuh are, and the copy of them for a tap: a policy of the
// kernel. Each has
//
//   tiles(axes, images)                 the number of tiles, of a phase (taps.cuh)
//   origin(axes, images, tile)          where a tile begins
//   taps_h, taps_w(axis, origin)        the taps that the tile visits
//   load(to, map, axes, origin, r, s, channel, barrier)
//                                       issues the copy of its pixels, shifted by tap (r, s)
//   result_row(axes, to, origin, pixel) the row of the result of a pixel of the tile; -1: none
//   make_map(map, data, axes, images, channels)
//                                       the tensor map of the source
//
// BoxRows: the pixels of a box (pixel_box.h). A tile skips the taps that are outside of the image for all of
// its pixels. At the end of an axis, a part of the box may be outside.
//
// Im2colRows: pixels that follow each other in a row of the image, its next row, the next image. Only the
// last tile has rows that are none. Every tile visits all taps. It needs an operation of one phase.
#pragma once

#include <rondo/kernels/conv/implicit_gemm/pixel_box.h>
#include <rondo/kernels/conv/implicit_gemm/taps.cuh>
#include <rondo/kernels/conv/implicit_gemm/wgmma_conv.cuh>

namespace rondo {

// The images of the result, of all phases.
struct ResultImages {
  int count, h, w;
};

struct BoxRows {
  PixelBox box;
  using Origin = BoxOrigin;

  __host__ __device__ BoxGrid grid(const Axes& axes, int images) const {
    return {box, axes.w.rows, axes.h.rows, images};
  }
  __host__ __device__ int64_t tiles(const Axes& axes, int images) const { return grid(axes, images).size(); }
  __device__ Origin origin(const Axes& axes, int images, int64_t tile) const {
    return box_origin(grid(axes, images), tile);
  }
  __device__ TapRange taps_h(const Axis& axis, const Origin& from) const {
    return taps_between(axis, from.h, min(from.h + box.h, axis.rows) - 1);
  }
  __device__ TapRange taps_w(const Axis& axis, const Origin& from) const {
    return taps_between(axis, from.w, min(from.w + box.w, axis.rows) - 1);
  }
  __device__ __forceinline__ void load(void* to, const CUtensorMap& map, const Axes& axes, const Origin& from,
                                       int r, int s, int channel, ptx::Mbarrier* full) const {
    const int y = axes.h.from_first + from.h * axes.h.from_step + axes.h.direction * r,
              x = axes.w.from_first + from.w * axes.w.from_step + axes.w.direction * s;
    ptx::tma_load(to, map, {channel, x, y, from.image}, full);
  }
  __device__ __forceinline__ int64_t result_row(const Axes& axes, const ResultImages& to, const Origin& from,
                                                int pixel) const {
    const int j = from.w + pixel % box.w, i = from.h + pixel / box.w % box.h,
              image = from.image + pixel / box.w / box.h;
    if (j >= axes.w.rows || i >= axes.h.rows || image >= to.count) return -1;
    return (int64_t{image} * to.h + axes.h.to_first + i * axes.h.to_step) * to.w + axes.w.to_first +
           j * axes.w.to_step;
  }
  template <class T>
  Status make_map(CUtensorMap* map, const T* data, const Axes& axes, int images, int channels) {
    box = choose_pixel_box(kRowsOfConvTile, axes.w.rows, axes.h.rows, images);
    return make_image_map(map, data, images, axes.h.size, axes.w.size, channels, box, axes.h.from_step,
                          axes.w.from_step);
  }
};

struct Im2colRows {
  using Origin = NumberedPixel;

  __host__ __device__ int64_t tiles(const Axes& axes, int images) const {
    return ceil_div<int64_t>(int64_t{images} * axes.h.rows * axes.w.rows, kRowsOfConvTile);
  }
  __device__ Origin origin(const Axes& axes, int, int64_t tile) const {
    return numbered_pixel(axes, tile * kRowsOfConvTile);
  }
  __device__ TapRange taps_h(const Axis& axis, const Origin&) const { return {0, axis.taps}; }
  __device__ TapRange taps_w(const Axis& axis, const Origin&) const { return {0, axis.taps}; }
  __device__ __forceinline__ void load(void* to, const CUtensorMap& map, const Axes& axes, const Origin& from,
                                       int r, int s, int channel, ptx::Mbarrier* full) const {
    load_im2col(to, map, axes, from, r, s, channel, full);
  }
  // With one phase, the rows of the result are numbered as its pixels.
  __device__ __forceinline__ int64_t result_row(const Axes&, const ResultImages& to, const Origin& from,
                                                int pixel) const {
    const int64_t number = from.number + pixel;
    return number < int64_t{to.count} * to.h * to.w ? number : -1;
  }
  template <class T>
  Status make_map(CUtensorMap* map, const T* data, const Axes& axes, int images, int channels) {
    return make_im2col_map(map, data, axes, images, channels, kRowsOfConvTile);
  }
};

}  // namespace rondo
