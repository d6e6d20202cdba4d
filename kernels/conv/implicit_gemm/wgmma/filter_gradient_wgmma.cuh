// Filter gradient by wgmma (wgmma_conv.cuh):
//
//   rows = (tap, in channel), columns = out channels, k = output pixels, 64 for each k-tile
//
// Which pixels a k-tile has is a policy, `Pixels` (gradient_pixels.cuh). Both operands are MN-major: a panel
// of A is 64 channels of x at the pixels, shifted by the tap, and a panel of B 64 channels of dy. Panels of A
// whose channels are beyond the last row are zeros, which the copy writes for channels outside of x. Like the
// other filter gradient, the sum is split, and the result is stored transposed.
//
// Each .cu file instantiates the kernel for one element type.
#pragma once

#include <rondo/kernels/conv/conv_epilogue.cuh>
#include <rondo/kernels/conv/implicit_gemm/wgmma/gradient_pixels.cuh>
#include <rondo/kernels/gemm/partial_sums.cuh>

namespace rondo {

inline constexpr int kLineChannels = kChannelsPerLine<__nv_bfloat16>;  // of 16 bits

template <class Pixels>
struct WgmmaGradientParameters {
  CUtensorMap x, dy;
  ConvGeometry geometry;
  FilterGradient to;
  Pixels pixels;
  int tiles, steps, steps_per_part;
  Divisor by_tiles_of_part, by_tiles_n, by_blocks_of_tap, by_s;
  Partials partials;  // null data: one part, and the kernel stores dw
};

// Rows are counted in blocks of 64 channels of a tap; those of the last block of a tap may be partly unused.
struct RowBlock {
  int r, s, channel;
};
template <class Pixels>
__device__ __forceinline__ RowBlock row_block(const WgmmaGradientParameters<Pixels>& p, int number) {
  const auto [tap, block] = p.by_blocks_of_tap.divide(number);
  const auto [r, s] = p.by_s.divide(tap);
  // Past the last tap: outside of the channels, so that it is loaded as zeros, and not stored.
  if (r >= p.geometry.r) return {0, 0, ceil_div(p.geometry.c, kLineChannels) * kLineChannels};
  return {r, s, block * kLineChannels};
}

struct GradientWork {
  int row_block, column, part, step_begin, step_end;
};
template <class Tile, class Pixels>
__device__ GradientWork gradient_work(const WgmmaGradientParameters<Pixels>& p, int number) {
  const auto [part, tile] = p.by_tiles_of_part.divide(number);
  const auto [row, column] = p.by_tiles_n.divide(tile);
  const int64_t begin = min(int64_t{part} * p.steps_per_part, int64_t{p.steps}),
                end = min(begin + p.steps_per_part, int64_t{p.steps});
  return {row * (Tile::kM / kLineChannels), column * Tile::kN, part, static_cast<int>(begin),
          static_cast<int>(end)};
}

template <class Tile, class Pixels>
__device__ void load_gradient_tile(const WgmmaGradientParameters<Pixels>& p,
                                   WarpSpecializedShared<Tile>& shared, PipelineState<Tile::kStages>& state,
                                   const GradientWork& work) {
  const ConvGeometry& g = p.geometry;
  RowBlock blocks[Tile::kM / kLineChannels];
  RONDO_UNROLL
  for (int i = 0; i < Tile::kM / kLineChannels; ++i) blocks[i] = row_block(p, work.row_block + i);
  typename Pixels::Origin origin = p.pixels.origin(work.step_begin);
  for (int step = work.step_begin; step < work.step_end; ++step) {
    ptx::Mbarrier* const full = &shared.full[state.stage];
    ptx::mbarrier_wait(&shared.empty[state.stage], state.parity ^ 1);  // the first pass does not wait
    ptx::mbarrier_arrive_expect_tx(full, Tile::kBytes);
    RONDO_UNROLL
    for (int i = 0; i < Tile::kM / kLineChannels; ++i)
      p.pixels.load_x(shared.a[state.stage] + i * kPanelBytes, p.x, g, origin, blocks[i].r, blocks[i].s,
                      blocks[i].channel, full);
    RONDO_UNROLL
    for (int i = 0; i < Tile::kN / kLineChannels; ++i)
      p.pixels.load_dy(shared.b[state.stage] + i * kPanelBytes, p.dy, origin, work.column + i * kLineChannels,
                       full);
    p.pixels.advance(g, origin);
    state.advance();
  }
}

template <class Tile, class Pixels>
__device__ __forceinline__ void store_gradient_tile(const WgmmaGradientParameters<Pixels>& p,
                                                    WarpSpecializedShared<Tile>& shared,
                                                    const WgmmaAccumulators<Tile>& acc,
                                                    const GradientWork& work, int group) {
  const ConvGeometry& g = p.geometry;
  const auto row_of = [&](int row_in_tile) {  // of dw, (r, s, c), or -1
    const RowBlock block = row_block(p, work.row_block + row_in_tile / kLineChannels);
    const int channel = block.channel + row_in_tile % kLineChannels;
    return channel < g.c ? (int64_t{block.r} * g.s + block.s) * g.c + channel : int64_t{-1};
  };
  if (p.partials.data) {
    const int64_t stride = p.partials.stride();  // the padding too
    store_directly<float>(acc, group, work.column, stride, [&](int row_in_tile) {
      const int64_t row = row_of(row_in_tile);
      return row < 0 ? nullptr : p.partials.row(work.part, row);
    });
    return;
  }
  store_tile(shared, acc, group, [&](int row_in_tile, int column_in_tile, const Vec<4>& values) {
    const int64_t row = row_of(row_in_tile);
    const int column = work.column + column_in_tile;
    if (row < 0) return;
    RONDO_UNROLL
    for (int j = 0; j < 4; ++j)
      if (column + j < g.k)
        store_filter_gradient(p.to.dw + static_cast<int64_t>(column + j) * g.patch + row, values[j],
                              p.to.beta);
  });
}

template <class Tile, class Pixels>
__global__ __launch_bounds__(Tile::kThreads, 1) void filter_gradient_wgmma_kernel(
    const __grid_constant__ WgmmaGradientParameters<Pixels> p) {
  if constexpr (!kHasSm90a) return __trap();
  auto& shared = shared_memory<WarpSpecializedShared<Tile>>();
  run_warp_specialized<Tile>(
      shared, p.tiles,
      [&](int number, PipelineState<Tile::kStages>& state) {
        load_gradient_tile<Tile>(p, shared, state, gradient_work<Tile>(p, number));
      },
      [&](int number, WgmmaAccumulators<Tile>& acc, PipelineState<Tile::kStages>& state, int group) {
        const GradientWork work = gradient_work<Tile>(p, number);
        consume<Tile, Order::mn_major, Order::mn_major>(acc, shared, state, work.step_end - work.step_begin,
                                                        group);
        store_gradient_tile<Tile>(p, shared, acc, work, group);
      });
}

template <Arithmetic kArithmetic, class Pixels, class T>
Status launch_filter_gradient_wgmma_pixels(const char* name, const TileId& tile, const FilterGradient& to,
                                           const T* dy, const T* x, const ConvGeometry& g, int64_t splits,
                                           float* workspace, cudaStream_t stream) {
  WgmmaGradientParameters<Pixels> p = {};
  p.geometry = g;
  p.to = to;
  RONDO_RETURN_IF_ERROR(p.pixels.make_maps(&p.x, &p.dy, x, dy, g));
  const int64_t steps = p.pixels.steps();
  if (steps > INT32_MAX)
    return bad_argument(name, ": the result has ", g.output_pixels, " pixels, must be below 2^31");
  p.steps = static_cast<int>(steps);
  p.steps_per_part = static_cast<int>(ceil_div(steps, splits));
  if (splits > 1) p.partials = {workspace, g.patch, g.k, splits};
  RONDO_RETURN_IF_ERROR(with_tile_of(kWgmmaConvTiles<kArithmetic>, name, tile, [&]<class Tile>() {
    static_assert(Tile::kK == kPixelsOfGradientStep);
    const int64_t row_blocks = int64_t{g.r} * g.s * ceil_div(g.c, kLineChannels);
    const int tiles_n = ceil_div(g.k, Tile::kN);
    const int64_t of_part = ceil_div<int64_t>(row_blocks, Tile::kM / kLineChannels) * tiles_n;
    LaunchShape shape;
    RONDO_RETURN_IF_ERROR(persistent_launch_shape<Tile>(name, &shape, of_part * splits));
    p.tiles = static_cast<int>(of_part * splits);
    p.by_tiles_of_part = Divisor(static_cast<int>(of_part));
    p.by_tiles_n = Divisor(tiles_n);
    p.by_blocks_of_tap = Divisor(ceil_div(g.c, kLineChannels));
    p.by_s = Divisor(g.s);
    return launch(name, shape, stream, filter_gradient_wgmma_kernel<Tile, Pixels>, p);
  }));
  return splits > 1 ? sum_partials(p.partials, to.dw, 1, g.patch, Epilogue{.beta = to.beta}, stream)
                    : Status();
}

template <Arithmetic kArithmetic>
Status launch_filter_gradient_wgmma(const char* name, const TileId& tile, WgmmaConvPixels pixels,
                                    const FilterGradient& to, const FactorOf<kArithmetic>* dy,
                                    const FactorOf<kArithmetic>* x, const ConvGeometry& g, int64_t splits,
                                    float* workspace, cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_conv_pixels(name, ConvOperation::filter_gradient, pixels, g));
  return pixels == WgmmaConvPixels::im2col ? launch_filter_gradient_wgmma_pixels<kArithmetic, Im2colPixels>(
                                                 name, tile, to, dy, x, g, splits, workspace, stream)
                                           : launch_filter_gradient_wgmma_pixels<kArithmetic, BoxPixels>(
                                                 name, tile, to, dy, x, g, splits, workspace, stream);
}

}  // namespace rondo
