// What the kernels of convolutions by wgmma share: the tiles, and the tensor maps of images.
//
// The tensor memory accelerator gathers the patches of an implicit GEMM: a tile's rows (or, for the filter
// gradient, its steps of k) are the pixels of a box (pixel_box.h) or consecutive pixels (conv_rows.cuh), and
// a copy of them, shifted by a tap, is a k-tile, with the zeros of the padding. No thread computes an
// address. The rest is the kernel of gemm/wgmma/persistent.cuh: one thread loads, warpgroups multiply, a
// block computes tile after tile.
#pragma once

#include <rondo/kernels/conv/implicit_gemm/wgmma/pixel_box.h>
#include <rondo/kernels/conv/implicit_gemm/wgmma/wgmma_conv.h>
#include <rondo/kernels/gemm/tile_row.h>
#include <rondo/kernels/conv/implicit_gemm/wgmma/im2col_axis.cuh>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/gemm/wgmma/wgmma_tf32x3.cuh>

#include <tuple>
#include <type_traits>

namespace rondo {

template <class T>
inline constexpr int kChannelsPerLine = kLineBytes / static_cast<int>(sizeof(T));  // in a line of a k-tile

// The efficiencies are those of gemm/wgmma/tiles.cuh; that of 64 columns is an estimate in the same way.
template <Arithmetic kArithmetic>
inline constexpr auto kWgmmaConvTiles =
    std::tuple{TileRow<WarpSpecializedTile<FactorOf<kArithmetic>, kRowsOfConvTile, 256, 2, 4>>{1},
               TileRow<WarpSpecializedTile<FactorOf<kArithmetic>, kRowsOfConvTile, 128, 2, 6>>{0.85},
               TileRow<WarpSpecializedTile<FactorOf<kArithmetic>, kRowsOfConvTile, 64, 2, 8>>{0.6}};
template <>
inline constexpr auto kWgmmaConvTiles<Arithmetic::tf32x3> =
    std::tuple{TileRow<SplitTile<128, 4>>{0.85}, TileRow<SplitTile<64, 6>>{0.6}};

// Images NHWC, in copies of a line of channels of the pixels of a box.
template <class T>
Status make_image_map(CUtensorMap* map, const T* data, int images, int h, int w, int channels,
                      const PixelBox& box, bool round_to_tf32 = false) {
  const int64_t pixel = int64_t{channels} * static_cast<int64_t>(sizeof(T));
  return make_tensor_map(map, {.data = data,
                               .dtype = dtype_of<T>,
                               .rank = 4,
                               .size = {channels, w, h, images},
                               .stride = {0, pixel, pixel * w, pixel * w * h},
                               .box = {kChannelsPerLine<T>, box.w, box.h, box.images},
                               .swizzle = Swizzle::bytes128,
                               .round_to_tf32 = round_to_tf32});
}

// The same images, in copies of a line of channels of consecutive pixels: of what the rows of the axes read
// through a tap.
template <class T>
Status make_im2col_map(CUtensorMap* map, const T* data, const Axes& axes, int images, int channels,
                       int pixels, bool round_to_tf32 = false) {
  const int64_t pixel = int64_t{channels} * static_cast<int64_t>(sizeof(T));
  return make_im2col_map(map, {.data = data,
                               .dtype = dtype_of<T>,
                               .rank = 4,
                               .size = {channels, axes.w.size, axes.h.size, images},
                               .stride = {0, pixel, pixel * axes.w.size, pixel * axes.w.size * axes.h.size},
                               .lower = {lower_corner(axes.w), lower_corner(axes.h)},
                               .upper = {upper_corner(axes.w), upper_corner(axes.h)},
                               .step = {axes.w.from_step, axes.h.from_step},
                               .channels = kChannelsPerLine<T>,
                               .pixels = pixels,
                               .swizzle = Swizzle::bytes128,
                               .round_to_tf32 = round_to_tf32});
}

// Row (h, w) of the axes in an image, and its number.
struct NumberedPixel {
  int64_t number;
  int w, h, image;
};
// The numbers of the rows of the axes in the images, less than 2^31.
struct PixelNumbers {
  int64_t count = 0;
  Divisor by_w, by_h;

  PixelNumbers() = default;
  PixelNumbers(const Axes& axes, int images)
      : count(int64_t{images} * axes.h.rows * axes.w.rows), by_w(axes.w.rows), by_h(axes.h.rows) {}
  __host__ __device__ __forceinline__ NumberedPixel pixel(int number) const {
    const auto [line, w] = by_w.divide(number);
    const auto [image, h] = by_h.divide(line);
    return {number, w, h, image};
  }
};

// Issues the copy of what the pixels from `from` on read through tap (r, s).
__device__ __forceinline__ void load_im2col(void* to, const CUtensorMap& map, const Axes& axes,
                                            const NumberedPixel& from, int r, int s, int channel,
                                            ptx::Mbarrier* full) {
  ptx::tma_load_im2col(to, map,
                       {channel, filter_base(axes.w, from.w), filter_base(axes.h, from.h), from.image},
                       {filter_offset(axes.w, s), filter_offset(axes.h, r)}, full);
}

// Filters KRSC or, transposed, CRSK: as [outer][tap][inner], in copies of one tap: a line of inner channels
// of `outer_of_box` outer ones.
struct FilterSize {
  int inner, taps, outer;
};
template <class T>
Status make_filter_map(CUtensorMap* map, const T* data, const FilterSize& size, int outer_of_box,
                       bool round_to_tf32 = false) {
  const int64_t tap = int64_t{size.inner} * static_cast<int64_t>(sizeof(T));
  return make_tensor_map(map, {.data = data,
                               .dtype = dtype_of<T>,
                               .rank = 3,
                               .size = {size.inner, size.taps, size.outer},
                               .stride = {0, tap, tap * size.taps},
                               .box = {kChannelsPerLine<T>, 1, outer_of_box},
                               .swizzle = Swizzle::bytes128,
                               .round_to_tf32 = round_to_tf32});
}

// The roles of a block: calls produce(number, state) for each of its tiles in one thread, split(number,
// state) in the splitters, if the tile has them, and consume(number, acc, state, group) in all threads of the
// consumer warpgroups.
template <class Tile, class Produce, class Split, class Consume>
__device__ __forceinline__ void run_warp_specialized(SharedOf<Tile>& shared, int tiles,
                                                     const Produce& produce, const Split& split,
                                                     const Consume& consume) {
  init_ring(shared);
  PipelineState<Tile::kStages> state;
  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup, first = static_cast<int>(blockIdx.x),
            step = static_cast<int>(gridDim.x);
  if (warpgroup == 0) {
    ptx::warpgroup_reg_dealloc<Tile::kProducerRegisters>();
    if constexpr (kSplitters<Tile> != 0)
      if (threadIdx.x >= 32)
        for (int number = first; number < tiles; number += step) split(number, state);
    run_producer(shared, [&](PipelineState<Tile::kStages>& of_producer) {
      for (int number = first; number < tiles; number += step) produce(number, of_producer);
    });
    return;
  }
  ptx::warpgroup_reg_alloc<Tile::kConsumerRegisters>();
  WgmmaAccumulators<Tile> acc;
  for (int number = first; number < tiles; number += step) consume(number, acc, state, warpgroup - 1);
}
template <class Tile, class Produce, class Consume>
__device__ __forceinline__ void run_warp_specialized(SharedOf<Tile>& shared, int tiles,
                                                     const Produce& produce, const Consume& consume) {
  static_assert(kSplitters<Tile> == 0);
  run_warp_specialized<Tile>(
      shared, tiles, produce, [](int, PipelineState<Tile::kStages>&) {}, consume);
}

}  // namespace rondo
