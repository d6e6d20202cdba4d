// Forward convolution and data gradient by wgmma (wgmma_conv.cuh):
//
//   forward:       rows = a box of output pixels, columns = out channels, k = (tap, in channel)
//   data gradient: rows = a box of input pixels of one phase, columns = in channels, k = (tap, out channel)
//
// Taps that are outside of the image for all pixels of the box are skipped. The filters of the data gradient
// are MN-major. wgmma transposes those of 16 bits; tf32 needs a transposed copy (transpose_filter()).
//
// Each .cu file instantiates the kernel for one element type.
#pragma once

#include <rondo/kernels/conv/conv_epilogue.cuh>
#include <rondo/kernels/conv/implicit_gemm/taps.cuh>
#include <rondo/kernels/conv/implicit_gemm/wgmma_conv.cuh>

namespace rondo {

// How the filters lie in global memory.
template <class T, ConvOperation operation>
inline constexpr Order kWgmmaFilterOrder =
    operation == ConvOperation::forward || kRoundsToTf32<T> ? Order::k_major : Order::mn_major;

template <class T>
struct WgmmaConvParameters {
  CUtensorMap from, filter;
  ConvGeometry geometry;
  T* to;
  Epilogue epilogue;
  PartialMoments moments;  // forward: of 16 pixels of a box, if wanted
  PixelBox box;
  int64_t tiles_n, tiles_per_phase, tiles;
};

template <ConvOperation operation>
__host__ __device__ inline BoxGrid conv_boxes(const ConvGeometry& g, const PixelBox& box, const Axes& axes) {
  return {box, axes.w.rows, axes.h.rows, g.images};
}

// The results of a tile, and the taps that they need.
struct ConvWork {
  Axes axes;
  BoxOrigin origin;
  int64_t box;  // number
  int column;
  TapRange r, s;
  bool empty;  // the first phase has the most boxes
};
template <class Tile, ConvOperation operation>
__device__ ConvWork conv_work(const WgmmaConvParameters<typename Tile::Element>& p, int64_t number) {
  const ConvGeometry& g = p.geometry;
  ConvWork work;
  work.axes = axes_of<operation>(g, static_cast<int>(number / p.tiles_per_phase));
  const int64_t tile = number % p.tiles_per_phase;
  const BoxGrid grid = conv_boxes<operation>(g, p.box, work.axes);
  work.box = tile / p.tiles_n;
  work.empty = work.box >= grid.size();
  work.origin = box_origin(grid, work.box);
  work.column = static_cast<int>(tile % p.tiles_n) * Tile::kN;
  const BoxOrigin& from = work.origin;
  work.r = taps_between(work.axes.h, from.h, min(from.h + p.box.h, work.axes.h.rows) - 1);
  work.s = taps_between(work.axes.w, from.w, min(from.w + p.box.w, work.axes.w.rows) - 1);
  return work;
}

template <ConvOperation operation>
__device__ __forceinline__ int summed_channels(const ConvGeometry& g) {
  return operation == ConvOperation::forward ? g.c : g.k;
}

template <class Tile, ConvOperation operation>
__device__ void load_conv_tile(const WgmmaConvParameters<typename Tile::Element>& p,
                               WarpSpecializedShared<Tile>& shared, PipelineState<Tile::kStages>& state,
                               const ConvWork& work) {
  const ConvGeometry& g = p.geometry;
  const Axis &h = work.axes.h, &w = work.axes.w;
  for (int r = work.r.begin; r < work.r.begin + work.r.count; ++r) {
    const int y = h.from_first + work.origin.h * h.from_step + h.direction * r;
    for (int s = work.s.begin; s < work.s.begin + work.s.count; ++s) {
      const int x = w.from_first + work.origin.w * w.from_step + w.direction * s;
      const int tap = (h.tap_first + r * h.tap_step) * g.s + w.tap_first + s * w.tap_step;
      for (int channel = 0; channel < summed_channels<operation>(g); channel += Tile::kK) {
        ptx::Mbarrier* const full = &shared.full[state.stage];
        unsigned char* const b = shared.b[state.stage];
        ptx::mbarrier_wait(&shared.empty[state.stage], state.parity ^ 1);  // the first pass does not wait
        ptx::mbarrier_arrive_expect_tx(full, Tile::kBytes);
        ptx::tma_load(shared.a[state.stage], p.from, {channel, x, y, work.origin.image}, full);
        if constexpr (kWgmmaFilterOrder<typename Tile::Element, operation> == Order::k_major) {
          ptx::tma_load(b, p.filter, {channel, tap, work.column}, full);
        } else {
          RONDO_UNROLL
          for (int i = 0; i < Tile::kN / 64; ++i)
            ptx::tma_load(b + i * kPanelBytes, p.filter, {work.column + i * 64, tap, channel}, full);
        }
        state.advance();
      }
    }
  }
}

template <class Tile, ConvOperation operation>
__device__ __forceinline__ void store_conv_tile(const WgmmaConvParameters<typename Tile::Element>& p,
                                                WarpSpecializedShared<Tile>& shared,
                                                const WgmmaAccumulators<Tile>& acc, const ConvWork& work,
                                                int group) {
  const ConvGeometry& g = p.geometry;
  const Axis &h = work.axes.h, &w = work.axes.w;
  const int to_h = operation == ConvOperation::forward ? g.p : g.h,
            to_w = operation == ConvOperation::forward ? g.q : g.w;
  const int columns = operation == ConvOperation::forward ? g.k : g.c;
  // The row of the result, or -1 for pixels of the box that are outside of the image.
  const auto row_of = [&](int pixel) -> int64_t {
    const int j = work.origin.w + pixel % p.box.w, i = work.origin.h + pixel / p.box.w % p.box.h,
              image = work.origin.image + pixel / p.box.w / p.box.h;
    if (j >= w.rows || i >= h.rows || image >= g.images) return -1;
    return (int64_t{image} * to_h + h.to_first + i * h.to_step) * to_w + w.to_first + j * w.to_step;
  };
  const auto store = [&](int pixel, int column, const Vec<4>& values) {
    const int64_t row = row_of(pixel);
    return row < 0 ? values
                   : p.epilogue.store_row(p.to + row * columns, work.column + column, columns, values);
  };
  if constexpr (operation == ConvOperation::forward) {
    if (p.moments.values) {
      // The pixels of the lanes in the 16 of the calling warp: a bit for each.
      const int first = (group * 4 + static_cast<int>(threadIdx.x) % kWarpgroup / 32) * 16;
      const unsigned included =
          __ballot_sync(0xFFFFFFFFu, row_of(first + static_cast<int>(threadIdx.x) % 16) >= 0);
      static_assert(Tile::kPanelsM == 1);
      store_tile_and_moments(
          shared, acc, group, store, [&](int pixel) { return (included >> pixel % 16 & 1) != 0; },
          [&](int pixel, int column, const ColumnMoments& moments) {
            put_moments(p.moments, work.box * (Tile::kM / 16) + pixel / 16, work.column + column, moments);
          });
      return;
    }
  }
  store_tile(shared, acc, group, store);
}

template <class Tile, ConvOperation operation>
__global__ __launch_bounds__(Tile::kThreads, 1) void conv2d_wgmma_kernel(
    const __grid_constant__ WgmmaConvParameters<typename Tile::Element> p) {
  constexpr Order kOrderB = kWgmmaFilterOrder<typename Tile::Element, operation>;
  auto& shared = shared_memory<WarpSpecializedShared<Tile>>();
  run_warp_specialized<Tile>(
      shared, p.tiles,
      [&](int64_t number, PipelineState<Tile::kStages>& state) {
        const ConvWork work = conv_work<Tile, operation>(p, number);
        if (!work.empty) load_conv_tile<Tile, operation>(p, shared, state, work);
      },
      [&](int64_t number, WgmmaAccumulators<Tile>& acc, PipelineState<Tile::kStages>& state, int group) {
        const ConvWork work = conv_work<Tile, operation>(p, number);
        if (work.empty) return;
        const int channel_tiles = ceil_div(summed_channels<operation>(p.geometry), Tile::kK);
        const int64_t k_tiles = int64_t{work.r.count} * work.s.count * channel_tiles;
        consume<Tile, Order::k_major, kOrderB>(acc, shared, state, k_tiles, group);
        store_conv_tile<Tile, operation>(p, shared, acc, work, group);
      });
}

template <class Tile, ConvOperation operation>
Status launch_conv2d_wgmma_tile(const char* name, WgmmaConvParameters<typename Tile::Element>& p,
                                const typename Tile::Element* from, const typename Tile::Element* filter,
                                cudaStream_t stream) {
  const ConvGeometry& g = p.geometry;
  const Axes first = axes_of<operation>(g, 0);
  p.box = choose_pixel_box(Tile::kM, first.w.rows, first.h.rows, g.images);
  if constexpr (operation == ConvOperation::forward) {
    RONDO_RETURN_IF_ERROR(
        make_image_map(&p.from, from, g.images, g.h, g.w, g.c, p.box, g.stride_h, g.stride_w));
    RONDO_RETURN_IF_ERROR(make_filter_map(&p.filter, filter, {g.c, g.r * g.s, g.k}, Tile::kN));
  } else {
    using T = typename Tile::Element;
    RONDO_RETURN_IF_ERROR(make_image_map(&p.from, from, g.images, g.p, g.q, g.k, p.box, 1, 1));
    if constexpr (kWgmmaFilterOrder<T, operation> == Order::k_major)
      RONDO_RETURN_IF_ERROR(make_filter_map(&p.filter, filter, {g.k, g.r * g.s, g.c}, Tile::kN));
    else
      RONDO_RETURN_IF_ERROR(make_filter_map(&p.filter, filter, {g.c, g.r * g.s, g.k}, kChannelsPerLine<T>));
  }
  p.tiles_n = ceil_div(operation == ConvOperation::forward ? g.k : g.c, Tile::kN);
  p.tiles_per_phase = conv_boxes<operation>(g, p.box, first).size() * p.tiles_n;
  p.tiles = p.tiles_per_phase * phases_of<operation>(g);
  LaunchShape shape;
  RONDO_RETURN_IF_ERROR(persistent_launch_shape<Tile>(&shape, p.tiles));
  return launch(name, shape, stream, conv2d_wgmma_kernel<Tile, operation>, p);
}

template <class T>
Status launch_conv2d_wgmma(const char* name, ConvOperation operation, WgmmaConvTile tile, T* to,
                           const T* from, const T* filter, const ConvEpilogue<T>& epilogue,
                           const ConvGeometry& g, cudaStream_t stream) {
  WgmmaConvParameters<T> p = {};
  p.geometry = g;
  p.to = to;
  p.moments = epilogue.moments;
  p.epilogue = tile_epilogue<4>(epilogue, to, operation == ConvOperation::forward ? g.k : g.c);
  return with_wgmma_conv_tile<T>(tile, [&]<class Tile>() {
    return operation == ConvOperation::forward
               ? launch_conv2d_wgmma_tile<Tile, ConvOperation::forward>(name, p, from, filter, stream)
               : launch_conv2d_wgmma_tile<Tile, ConvOperation::data_gradient>(name, p, from, filter, stream);
  });
}

}  // namespace rondo
