// Filter gradient as an implicit GEMM with a long inner dimension:
//
//   rows = (tap, in channel), columns = out channels, k = output pixels of the whole batch
//
// The result is the transpose of dw; it has few values and is stored transposed. Blocks share tiles and split
// k (gemm/split_k.h). Rows are (tap, channel) rather than out channels because there are more of them, and
// tiles are higher than wide, so less of a tile is unused.
//
// The kernel is for every kind of tile. fma/ and mma/ instantiate it for the tiles of one arithmetic a file.
#pragma once

#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/conv/conv_epilogue.cuh>
#include <rondo/kernels/conv/implicit_gemm/patch_loader.cuh>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/gemm/fma/tile_mainloop.cuh>
#include <rondo/kernels/gemm/partial_sums.cuh>

namespace rondo {

template <class T>
struct FilterGradientParameters {
  ConvGeometry geometry;
  const T* x;
  const T* dy;
  FilterGradient to;
  int x_width, dy_width;
  int tiles_n;
  int64_t pixels_per_split;
  Partials partials;  // if data is null, the kernel itself stores the result
};

template <class Tile>
struct FilterGradientShared {
  TileShared<Tile, Order::mn_major> tile;
  PatchTap taps[Tile::kM];
};

template <class Tile>
__global__ __launch_bounds__(Tile::kThreads, Tile::kBlocksAtOnce) void conv2d_filter_gradient_kernel(
    const FilterGradientParameters<typename Tile::Element> p) {
  using KTileRows = KTileA<Tile, Order::mn_major>;
  auto& shared = shared_memory<FilterGradientShared<Tile>>();
  const ConvGeometry& g = p.geometry;
  const int row0 = static_cast<int>(blockIdx.x) / p.tiles_n * Tile::kM;
  const int column0 = static_cast<int>(blockIdx.x) % p.tiles_n * Tile::kN;
  const int64_t first = blockIdx.y * p.pixels_per_split;
  const int64_t pixels = min(g.output_pixels - first, p.pixels_per_split);

  for (int i = threadIdx.x; i < Tile::kM; i += Tile::kThreads)
    shared.taps[i] = patch_tap(g, row0 + i, p.x_width);
  __syncthreads();

  PatchLoader<KTileRows, Tile> a(p.x, g, shared.taps, first, pixels, p.x_width);
  MatrixLoader<Order::mn_major, KTileB<Tile, Order::mn_major>, Tile::kN, Tile> b(
      p.dy + first * g.k + column0, g.k, g.k - column0, pixels, p.dy_width);
  Accumulators<Tile> acc;
  tile_mainloop<Tile, Order::mn_major, Order::mn_major>(acc, shared.tile, a, b, pixels);

  store_tile<Tile, Order::mn_major>(
      shared.tile, acc, [&]<int N>(int row_in_tile, int column_in_tile, const Vec<N>& sums) {
        const int row = row0 + row_in_tile, column = column0 + column_in_tile;
        if (row >= g.patch) return;
        if (p.partials.data)
          return Epilogue{.aligned = true}.store_tile_row(p.partials.row(blockIdx.y, row), column, g.k, sums);
        RONDO_UNROLL
        for (int j = 0; j < N; ++j)
          if (column + j < g.k)
            store_filter_gradient(p.to.dw + static_cast<int64_t>(column + j) * g.patch + row, sums[j],
                                  p.to.beta);
      });
}

template <class Tile>
Status launch_filter_gradient_tile(const char* name, FilterGradientParameters<typename Tile::Element>& p,
                                   int64_t splits, cudaStream_t stream) {
  static_assert(sizeof(FilterGradientShared<Tile>) ==
                sizeof(TileShared<Tile, Order::mn_major>) + kPatchNeeds.bytes_per_row * Tile::kM);
  p.tiles_n = ceil_div(p.geometry.k, Tile::kN);
  const LaunchShape shape = {.grid_x = ceil_div<int64_t>(p.geometry.patch, Tile::kM) * p.tiles_n,
                             .grid_y = splits,
                             .block_x = Tile::kThreads,
                             .shared_bytes = sizeof(FilterGradientShared<Tile>)};
  return launch(name, shape, stream, conv2d_filter_gradient_kernel<Tile>, p);
}

}  // namespace rondo
