// Forward convolution and data gradient by wgmma (wgmma_conv.cuh):
//
//   forward:       rows = output pixels, columns = out channels, k = (tap, in channel)
//   data gradient: rows = input pixels of one phase, columns = in channels, k = (tap, out channel)
//
// Which pixels a tile has is a policy, `Rows` (conv_rows.cuh). The filters of the data gradient are MN-major.
// wgmma transposes those of 16 bits; floats need a transposed copy (transpose_filter()).
//
// With the tiles of tf32x3, the pixels are A and the filter is B of ../../../gemm/wgmma/wgmma_tf32x3.cuh: the
// consumers split the pixels in registers, the splitters split the filter in shared memory.
//
// If there are too few tiles for a GPU, each tile is computed in parts, as in conv2d_kernel.cuh: sums over a
// range of its k-tiles, which a second pass adds (../../gemm/partial_sums.cuh).
//
// Each .cu file instantiates the kernel for one type and arithmetic.
#pragma once

#include <rondo/kernels/conv/implicit_gemm/wgmma/wgmma_conv.h>
#include <rondo/kernels/conv/conv_epilogue.cuh>
#include <rondo/kernels/conv/implicit_gemm/wgmma/conv_rows.cuh>
#include <rondo/kernels/gemm/partial_sums.cuh>

namespace rondo {

// How the filters lie in global memory.
template <class T, ConvOperation operation>
inline constexpr Order kWgmmaFilterOrder =
    operation == ConvOperation::forward || std::is_same_v<T, float> ? Order::k_major : Order::mn_major;

template <class T, class Rows>
struct WgmmaConvParameters {
  CUtensorMap from, filter;
  ConvGeometry geometry;
  T* to;
  Epilogue epilogue;
  PartialMoments moments;  // forward: of 16 rows of a tile, if wanted
  Rows rows;
  Axes first_axes;  // of the first phase
  int parts, tiles;
  Divisor by_tiles_n, by_tiles_of_phase, by_tiles_of_part;
  Partials partials;  // with several parts
};

// The results of a tile, and the k-tiles of its part: those of the taps that the results need.
template <class Rows>
struct ConvWork {
  Axes axes;
  typename Rows::Origin origin;
  int tile;  // number of its rows
  int column;
  TapWalk walk;  // in units of k-tiles
  int part;
  bool empty;
};
template <ConvOperation operation>
__host__ __device__ __forceinline__ int summed_channels(const ConvGeometry& g) {
  return operation == ConvOperation::forward ? g.c : g.k;
}

template <class Tile, ConvOperation operation, class Rows>
__device__ ConvWork<Rows> conv_work(const WgmmaConvParameters<typename Tile::Element, Rows>& p, int number) {
  const ConvGeometry& g = p.geometry;
  ConvWork<Rows> work;
  const auto [part, tile_of_part] = p.by_tiles_of_part.divide(number);
  const auto [phase, tile_of_phase] = p.by_tiles_of_phase.divide(tile_of_part);
  const auto [tile, column] = p.by_tiles_n.divide(tile_of_phase);
  work.part = part, work.tile = tile, work.column = column * Tile::kN;
  work.axes = p.first_axes;
  if constexpr (operation == ConvOperation::data_gradient)
    if (phase > 0) work.axes = axes_of<operation, false>(g, phase);
  work.origin = p.rows.origin(tile);
  work.empty = !p.rows.has_rows(work.axes, work.origin);
  const Axis &h = work.axes.h, &w = work.axes.w;
  const int channel_tiles = ceil_div(summed_channels<operation>(g), Tile::kK);
  work.walk = TapWalk(p.rows.taps_h(h, work.origin), p.rows.taps_w(w, work.origin), channel_tiles);
  if (p.parts > 1) {
    const KRange range = part_of_k(h.taps * w.taps * channel_tiles, 1, part, p.parts);
    work.walk.restrict_to(range.begin, range.end, w.taps);
  }
  return work;
}

template <class Tile, ConvOperation operation, class Rows>
__device__ void load_conv_tile(const WgmmaConvParameters<typename Tile::Element, Rows>& p,
                               WarpSpecializedShared<Tile>& shared, PipelineState<Tile::kStages>& state,
                               const ConvWork<Rows>& work) {
  const ConvGeometry& g = p.geometry;
  const Axis &h = work.axes.h, &w = work.axes.w;
  const TapWalk& walk = work.walk;
  TapPosition position = walk.begin();
  for (int i = 0; i < walk.length(); ++i) {
    const int r = walk.r(position), s = walk.s(position), channel = position.channel * Tile::kK;
    const int tap = (h.tap_first + r * h.tap_step) * g.s + w.tap_first + s * w.tap_step;
    ptx::Mbarrier* const full = &shared.full[state.stage];
    unsigned char* const b = shared.b[state.stage];
    ptx::mbarrier_wait(&shared.empty[state.stage], state.parity ^ 1);  // the first pass does not wait
    ptx::mbarrier_arrive_expect_tx(full, Tile::kBytes);
    p.rows.load(shared.a[state.stage], p.from, work.axes, work.origin, r, s, channel, full);
    if constexpr (kWgmmaFilterOrder<typename Tile::Element, operation> == Order::k_major) {
      ptx::tma_load(b, p.filter, {channel, tap, work.column}, full);
    } else {
      RONDO_UNROLL
      for (int panel = 0; panel < Tile::kN / 64; ++panel)
        ptx::tma_load(b + panel * kPanelBytes, p.filter, {work.column + panel * 64, tap, channel}, full);
    }
    walk.advance(position, {.channel = 1});
    state.advance();
  }
}

template <class Tile, ConvOperation operation, class Rows>
__device__ __forceinline__ void store_conv_tile(const WgmmaConvParameters<typename Tile::Element, Rows>& p,
                                                WarpSpecializedShared<Tile>& shared,
                                                WgmmaAccumulators<Tile>& acc, const ConvWork<Rows>& work,
                                                int group) {
  const ConvGeometry& g = p.geometry;
  const ResultImages to = operation == ConvOperation::forward ? ResultImages{g.images, g.p, g.q}
                                                              : ResultImages{g.images, g.h, g.w};
  const int columns = operation == ConvOperation::forward ? g.k : g.c;
  const auto row_of = [&](int pixel) { return p.rows.result_row(work.axes, to, work.origin, pixel); };
  const auto store = [&](int pixel, int column, const Vec<4>& values) {
    const int64_t row = row_of(pixel);
    if (row < 0) return values;
    return p.epilogue.store_row(p.to + row * columns, work.column + column, columns, values);
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
          [&](int pixel, int column, const auto& moments) {
            put_moments(p.moments, work.tile * (Tile::kM / 16) + pixel / 16, work.column + column, moments);
          });
      return;
    }
  }
  const auto rows_at = [&](auto* to, int64_t stride) {
    return [=](int pixel) {
      const int64_t row = row_of(pixel);
      return row < 0 ? nullptr : to + row * stride;
    };
  };
  if (p.parts > 1) {
    const int64_t stride = p.partials.stride();  // the padding too
    store_directly<float>(acc, group, work.column, stride, rows_at(p.partials.row(work.part, 0), stride));
  } else if (can_store_directly(p.epilogue, p.to, columns, columns)) {
    apply_epilogue(acc, p.epilogue, work.column, columns);
    store_directly<typename Tile::Element>(acc, group, work.column, columns, rows_at(p.to, columns));
  } else {
    store_tile(shared, acc, group, store);
  }
}

template <class Tile, ConvOperation operation, class Rows>
__global__ __launch_bounds__(Tile::kThreads, 1) void conv2d_wgmma_kernel(
    const __grid_constant__ WgmmaConvParameters<typename Tile::Element, Rows> p) {
  if constexpr (!kHasSm90a) return __trap();
  constexpr Order kOrderB = kWgmmaFilterOrder<typename Tile::Element, operation>;
  auto& shared = shared_memory<SharedOf<Tile>>();
  run_warp_specialized<Tile>(
      shared, p.tiles,
      [&](int number, PipelineState<Tile::kStages>& state) {
        const ConvWork<Rows> work = conv_work<Tile, operation>(p, number);
        if (!work.empty) load_conv_tile<Tile, operation>(p, shared, state, work);
      },
      [&](int number, PipelineState<Tile::kStages>& state) {
        if constexpr (kSplitters<Tile> != 0) {
          const ConvWork<Rows> work = conv_work<Tile, operation>(p, number);
          if (!work.empty) split_b(shared, state, work.walk.length());
        }
      },
      [&](int number, WgmmaAccumulators<Tile>& acc, PipelineState<Tile::kStages>& state, int group) {
        const ConvWork<Rows> work = conv_work<Tile, operation>(p, number);
        if (work.empty) return;
        if constexpr (kSplitters<Tile> != 0)
          consume_split(acc, shared, state, work.walk.length(), group);
        else
          consume<Tile, Order::k_major, kOrderB>(acc, shared, state, work.walk.length(), group);
        store_conv_tile<Tile, operation>(p, shared, acc, work, group);
      });
}

template <class Tile, ConvOperation operation, class Rows>
Status launch_conv2d_wgmma_tile(const char* name, WgmmaConvParameters<typename Tile::Element, Rows>& p,
                                const typename Tile::Element* from, const typename Tile::Element* filter,
                                cudaStream_t stream) {
  const ConvGeometry& g = p.geometry;
  const Axes first = axes_of<operation>(g, 0);
  static_assert(Tile::kM == kRowsOfConvTile);
  constexpr bool kRounds = Tile::kRoundsToTf32;
  RONDO_RETURN_IF_ERROR(
      p.rows.make_map(&p.from, from, first, g.images, summed_channels<operation>(g), kRounds));
  if constexpr (operation == ConvOperation::forward) {
    RONDO_RETURN_IF_ERROR(make_filter_map(&p.filter, filter, {g.c, g.r * g.s, g.k}, Tile::kN, kRounds));
  } else {
    using T = typename Tile::Element;
    if constexpr (kWgmmaFilterOrder<T, operation> == Order::k_major)
      RONDO_RETURN_IF_ERROR(make_filter_map(&p.filter, filter, {g.k, g.r * g.s, g.c}, Tile::kN, kRounds));
    else
      RONDO_RETURN_IF_ERROR(make_filter_map(&p.filter, filter, {g.c, g.r * g.s, g.k}, kChannelsPerLine<T>));
  }
  const int64_t tiles_n = ceil_div(operation == ConvOperation::forward ? g.k : g.c, Tile::kN),
                of_phase = p.rows.tiles() * tiles_n, of_part = of_phase * phases_of<operation>(g);
  LaunchShape shape;
  RONDO_RETURN_IF_ERROR(persistent_launch_shape<Tile>(name, &shape, of_part * p.parts));
  shape.shared_bytes = sizeof(SharedOf<Tile>);
  p.first_axes = first;
  p.tiles = static_cast<int>(of_part * p.parts);
  p.by_tiles_n = Divisor(static_cast<int>(tiles_n));
  p.by_tiles_of_phase = Divisor(static_cast<int>(of_phase));
  p.by_tiles_of_part = Divisor(static_cast<int>(of_part));
  return launch(name, shape, stream, conv2d_wgmma_kernel<Tile, operation, Rows>, p);
}

template <Arithmetic kArithmetic, class Rows, class T>
Status launch_conv2d_wgmma_rows(const char* name, ConvOperation operation, const TileId& tile,
                                const WgmmaConvArguments<T>& a, cudaStream_t stream) {
  const GemmShape product = conv2d_product(operation, a.geometry);
  const Epilogue of_results = tile_epilogue<4>(a.epilogue, a.to, product.n);
  WgmmaConvParameters<T, Rows> p = {};
  p.geometry = a.geometry;
  p.to = a.to;
  p.parts = static_cast<int>(a.splits);
  if (a.splits > 1) {
    p.partials = {a.workspace, product.m, product.n, a.splits};
    p.epilogue = Epilogue{.aligned = true};
  } else {
    p.moments = a.epilogue.moments;
    p.epilogue = of_results;
  }
  const auto run = [&]<class Tile>() {
    return operation == ConvOperation::forward
               ? launch_conv2d_wgmma_tile<Tile, ConvOperation::forward>(name, p, a.from, a.filter, stream)
               : launch_conv2d_wgmma_tile<Tile, ConvOperation::data_gradient>(name, p, a.from, a.filter,
                                                                              stream);
  };
  RONDO_RETURN_IF_ERROR(with_tile_of(kWgmmaConvTiles<kArithmetic>, name, tile, run));
  return a.splits > 1 ? sum_partials(p.partials, a.to, product.n, 1, of_results, stream) : Status();
}

template <Arithmetic kArithmetic>
Status launch_conv2d_wgmma(const char* name, ConvOperation operation, const TileId& tile,
                           WgmmaConvPixels pixels, const WgmmaConvArguments<FactorOf<kArithmetic>>& a,
                           cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_conv_pixels(name, operation, pixels, a.geometry));
  return pixels == WgmmaConvPixels::im2col
             ? launch_conv2d_wgmma_rows<kArithmetic, Im2colRows>(name, operation, tile, a, stream)
             : launch_conv2d_wgmma_rows<kArithmetic, BoxRows>(name, operation, tile, a, stream);
}

}  // namespace rondo
