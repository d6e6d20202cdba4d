// The persistent kernel: one block for each multiprocessor computes a sequence of tiles. The producer thread
// runs ahead across tiles: it loads the next tile's first k-tiles during the epilogue of the current one. The
// order of the tiles (tile_order.h) lets blocks that run at the same time read the same rows and columns from
// L2.
#pragma once

#include <rondo/kernels/gemm/wgmma/tile_order.h>
#include <rondo/kernels/gemm/wgmma/warp_specialized.cuh>

namespace rondo {

// Calls compute(TileWork) for each tile of the block. The blocks of a cluster compute vertically adjacent
// tiles at a time; `tiles` has such groups.
template <class Tile, class T, class Compute>
__device__ __forceinline__ void for_each_tile(const WarpSpecializedParameters<T>& p, const TileGrid& tiles,
                                              const Compute& compute) {
  constexpr int kBlocks = kClusterBlocks<Tile>;
  const int rank = static_cast<int>(blockIdx.x) % kBlocks, step = static_cast<int>(gridDim.x) / kBlocks;
  for (int number = static_cast<int>(blockIdx.x) / kBlocks; number < tiles.size(); number += step) {
    const TilePosition tile = tiles.position(number);
    compute(tile_work<Tile>(p, tile.m * kBlocks + rank, tile.n, tile.part));
  }
}

template <class Tile, Order OrderA, Order OrderB>
__global__ __launch_bounds__(Tile::kThreads, 1) void gemm_persistent_kernel(
    const __grid_constant__ WarpSpecializedParameters<typename Tile::Element> p, const TileGrid tiles) {
  if constexpr (!kHasSm90a) return __trap();
  auto& shared = shared_memory<WarpSpecializedShared<Tile>>();
  init_ring(shared);
  // Each role goes around the ring from tile to tile: the next tile's k-tiles are loaded during the stores.
  using State = PipelineState<Tile::kStages>;
  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  if (warpgroup == 0) {
    ptx::warpgroup_reg_dealloc<Tile::kProducerRegisters>();
    run_producer(shared, [&](State& state) {
      for_each_tile<Tile>(
          p, tiles, [&](const TileWork& work) { produce<Tile, OrderA, OrderB>(p, shared, state, work); });
    });
    return;
  }
  ptx::warpgroup_reg_alloc<Tile::kConsumerRegisters>();
  State state;
  WgmmaAccumulators<Tile> acc;
  for_each_tile<Tile>(p, tiles, [&](const TileWork& work) {
    consume<Tile, OrderA, OrderB>(acc, shared, state, k_tiles_of<Tile>(work), warpgroup - 1);
    store_results(p, shared, acc, work, warpgroup - 1);
  });
}

// The tiles of a product, or an error: kernels count them in 32 bits.
inline Status make_tile_grid(const char* name, TileGrid* tiles, int64_t m, int64_t n, int64_t parts = 1,
                             int band_rows = kBandRows) {
  RONDO_RETURN_IF_ERROR(check_tiles(name, saturating_product({m, n, parts})));
  *tiles = {m, n, parts, band_rows};
  return {};
}

// Calls launch_kernel.operator()<OrderA, OrderB>(LaunchShape, WarpSpecializedParameters, TileGrid) for a
// block per multiprocessor, in clusters where the tile has them, and adds the parts of k.
template <class Tile, class T, class C, class LaunchKernel>
Status launch_persistent(const char* name, const GemmArgumentsOf<T, C>& g, const SplitK& parts,
                         Workspace workspace, cudaStream_t stream, const LaunchKernel& launch_kernel) {
  if (g.m == 0 || g.n == 0) return {};
  constexpr int kBlocks = kClusterBlocks<Tile>;
  WarpSpecializedParameters<T> p = {};
  RONDO_RETURN_IF_ERROR(warp_specialized_parameters<Tile>(&p, g, parts, workspace));
  TileGrid tiles;
  RONDO_RETURN_IF_ERROR(make_tile_grid(name, &tiles, ceil_div<int64_t>(g.m, Tile::kM * kBlocks),
                                       p.product.tiles_n, parts.splits, kBandRows / kBlocks));
  LaunchShape shape;
  RONDO_RETURN_IF_ERROR(persistent_launch_shape<Tile>(name, &shape, tiles.size()));
  const GemmProblem problem = problem_of(g);
  RONDO_RETURN_IF_ERROR(
      with_wgmma_orders<T>(problem.a.order, problem.b.order, [&]<Order OrderA, Order OrderB>() {
        return launch_kernel.template operator()<OrderA, OrderB>(shape, p, tiles);
      }));
  return parts.splits > 1 ? sum_partials(p.product.partials, g.c, g.c_stride, 1, gemm_epilogue(g), stream)
                          : Status();
}

}  // namespace rondo
