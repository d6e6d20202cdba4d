// Policies of the kernel of conv2d_wgmma.cuh. A policy defines the pixels that are the rows of a tile, and
// copies them for a tap. Each has
//
//   make_map(map, data, axes, images, channels, round_to_tf32)
//                                       the tensor map of the source; axes: of the first phase (taps.cuh)
//   tiles()                             the number of tiles of each phase; after make_map()
//   origin(tile)                        where a tile begins
//   has_rows(axes, origin)              whether it has a pixel: phases may have fewer than the first one
//   taps_h, taps_w(axis, origin)        the taps that the tile visits
//   load(to, map, axes, origin, r, s, channel, barrier)
//                                       issues the copy of its pixels, shifted by tap (r, s)
//   result_row(axes, to, origin, pixel) the row of the result of a pixel of the tile; -1: none
//
// BoxRows: the pixels of a box (pixel_box.h), of which neighbours read neighbours (wgmma_box_fits()). A tile
// skips the taps that are outside of the image for all of its pixels. At the end of an axis, a part of the
// box may be outside.
//
// Im2colRows: pixels that follow each other in a row of the image, its next row, the next image. Only the
// last tile may have unused rows. Every tile visits all taps. It needs an operation of one phase.
#pragma once

#include <rondo/kernels/conv/implicit_gemm/wgmma/pixel_box.h>
#include <rondo/kernels/conv/implicit_gemm/taps.cuh>
#include <rondo/kernels/conv/implicit_gemm/wgmma/wgmma_conv.cuh>

namespace rondo {

// The images of the result, of all phases.
struct ResultImages {
  int count, h, w;
};

struct BoxRows {
  BoxGrid grid;
  using Origin = ImagePixel;

  int64_t tiles() const { return grid.size(); }
  __device__ Origin origin(int tile) const { return grid.origin(tile); }
  __device__ bool has_rows(const Axes& axes, const Origin& from) const {
    return from.w < axes.w.rows && from.h < axes.h.rows;
  }
  __device__ TapRange taps_h(const Axis& axis, const Origin& from) const {
    return taps_of(axis, from.h, grid.box.h);
  }
  __device__ TapRange taps_w(const Axis& axis, const Origin& from) const {
    return taps_of(axis, from.w, grid.box.w);
  }
  __device__ __forceinline__ void load(void* to, const CUtensorMap& map, const Axes& axes, const Origin& from,
                                       int r, int s, int channel, ptx::Mbarrier* full) const {
    const int y = axes.h.from_first + from.h + axes.h.tap_distance * r,
              x = axes.w.from_first + from.w + axes.w.tap_distance * s;
    ptx::tma_load(to, map, {channel, x, y, from.image}, full);
  }
  __device__ __forceinline__ int64_t result_row(const Axes& axes, const ResultImages& to, const Origin& from,
                                                int pixel) const {
    const ImagePixel in_box = grid.in_box(pixel);
    const int j = from.w + in_box.w, i = from.h + in_box.h, image = from.image + in_box.image;
    if (j >= axes.w.rows || i >= axes.h.rows || image >= to.count) return -1;
    return (int64_t{image} * to.h + axes.h.to_first + i * axes.h.to_step) * to.w + axes.w.to_first +
           j * axes.w.to_step;
  }
  template <class T>
  Status make_map(CUtensorMap* map, const T* data, const Axes& axes, int images, int channels,
                  bool round_to_tf32) {
    grid = {choose_pixel_box(kRowsOfConvTile, axes.w.rows, axes.h.rows, images), axes.w.rows, axes.h.rows,
            images};
    return make_image_map(map, data, images, axes.h.size, axes.w.size, channels, grid.box, round_to_tf32);
  }

 private:
  // With a dilation all of them: what is outside of the image is copied as zeros, and the division of
  // taps_between() takes registers.
  static __device__ TapRange taps_of(const Axis& axis, int first, int length) {
    if (axis.tap_distance > 1 || axis.tap_distance < -1) return {0, axis.taps};
    return adjacent_taps_between(axis, first, min(first + length, axis.rows) - 1);
  }
};

struct Im2colRows {
  PixelNumbers numbers;
  using Origin = NumberedPixel;

  int64_t tiles() const { return ceil_div<int64_t>(numbers.count, kRowsOfConvTile); }
  __device__ Origin origin(int tile) const { return numbers.pixel(tile * kRowsOfConvTile); }
  __device__ bool has_rows(const Axes&, const Origin&) const { return true; }
  __device__ TapRange taps_h(const Axis& axis, const Origin&) const { return {0, axis.taps}; }
  __device__ TapRange taps_w(const Axis& axis, const Origin&) const { return {0, axis.taps}; }
  __device__ __forceinline__ void load(void* to, const CUtensorMap& map, const Axes& axes, const Origin& from,
                                       int r, int s, int channel, ptx::Mbarrier* full) const {
    load_im2col(to, map, axes, from, r, s, channel, full);
  }
  // With one phase, the rows of the result are numbered as its pixels.
  __device__ __forceinline__ int64_t result_row(const Axes&, const ResultImages&, const Origin& from,
                                                int pixel) const {
    const int64_t number = from.number + pixel;
    return number < numbers.count ? number : -1;
  }
  template <class T>
  Status make_map(CUtensorMap* map, const T* data, const Axes& axes, int images, int channels,
                  bool round_to_tf32) {
    numbers = PixelNumbers(axes, images);
    return make_im2col_map(map, data, axes, images, channels, kRowsOfConvTile, round_to_tf32);
  }
};

}  // namespace rondo
